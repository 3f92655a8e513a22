-- expect: T001 4:8
-- expect: T002 5:8
-- expect: T001 6:8
SELECT sum('a');
SELECT regexp_like(1);
SELECT octet_length(X'00');
