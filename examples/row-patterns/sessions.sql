-- Sessions: clicks of a visitor with less than half an hour between them.
SELECT visitor, began, clicks, bought
FROM clicks MATCH_RECOGNIZE (
  PARTITION BY visitor
  ORDER BY time
  MEASURES FIRST(time) AS began,
           COUNT(*) AS clicks,
           BOOL_OR(page = 'pay') AS bought
  PATTERN (FIRST_CLICK MORE*)
  DEFINE MORE AS time - PREV(time) < INTERVAL '30' MINUTE)
ORDER BY began
