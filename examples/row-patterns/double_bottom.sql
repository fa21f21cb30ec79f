-- Two falls to about the same low, with a rise between them and one after: a W.
SELECT *
FROM prices MATCH_RECOGNIZE (
  PARTITION BY symbol
  ORDER BY day
  MEASURES FIRST(day) AS since,
           LAST(DOWN.close) AS first_low,
           LAST(UP.close) AS peak,
           LAST(DOWN2.close) AS second_low,
           LAST(day) AS until
  AFTER MATCH SKIP PAST LAST ROW
  PATTERN (START_ROW DOWN+ UP+ DOWN2+ UP2+)
  DEFINE DOWN AS close < PREV(close),
         UP AS close > PREV(close),
         DOWN2 AS close < PREV(close),
         UP2 AS close > PREV(close) AND ABS(LAST(DOWN2.close) - LAST(DOWN.close)) <= 1)
ORDER BY symbol, since
