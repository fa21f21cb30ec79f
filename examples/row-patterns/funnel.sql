-- How far visitors get from a first view to the cart and to paying, within an hour.
SELECT reached, COUNT(*) AS visits
FROM clicks MATCH_RECOGNIZE (
  PARTITION BY visitor
  ORDER BY time
  MEASURES CLASSIFIER(STEP) AS reached
  AFTER MATCH SKIP PAST LAST ROW
  PATTERN (VIEWED (OTHER*? CART (OTHER*? PAID)?)?) WITHIN INTERVAL '1' HOUR
  SUBSET STEP = (VIEWED, CART, PAID)
  DEFINE VIEWED AS page = 'view', CART AS page = 'cart', PAID AS page = 'pay')
GROUP BY reached
ORDER BY visits DESC, reached
