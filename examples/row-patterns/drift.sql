-- A sensor that rises at least four times in a row, by more than two degrees in all.
SELECT *
FROM sensors MATCH_RECOGNIZE (
  PARTITION BY sensor
  ORDER BY time
  MEASURES FIRST(time) AS since,
           LAST(time) AS until,
           ROUND(LAST(value) - FIRST(value), 1) AS drift,
           AVG(UP.value) AS mean
  PATTERN (CALM UP{4,} ENOUGH)
  DEFINE UP AS value > PREV(value),
         ENOUGH AS value > PREV(value) AND value - FIRST(value) > 2)
