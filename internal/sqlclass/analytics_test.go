package sqlclass_test

import "strings"

// analytics are queries as analysts write them. Each only reads, and none may
// be held.
func analytics() []string {
	return strings.Split(strings.TrimSpace(analyticsText), "\n")
}

const analyticsText = `
SELECT count(*) FROM orders
SELECT count(DISTINCT customer_id) FILTER (WHERE state = 'paid') FROM orders
SELECT date_trunc('month', created_at) AS m, sum(total)::numeric(12,2) FROM orders GROUP BY 1 ORDER BY 1 DESC
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY total) AS median, mode() WITHIN GROUP (ORDER BY state) FROM orders
SELECT percentile_disc(ARRAY[0.25, 0.5, 0.75]) WITHIN GROUP (ORDER BY total) FROM orders
SELECT id, row_number() OVER (PARTITION BY customer_id ORDER BY created_at DESC) AS rn FROM orders
SELECT id, lag(total, 1, 0) OVER w, lead(total) OVER w, first_value(total) OVER w, nth_value(total, 2) OVER w FROM orders WINDOW w AS (PARTITION BY customer_id ORDER BY id)
SELECT sum(total) OVER (ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW EXCLUDE TIES) FROM orders
SELECT avg(total) OVER (ORDER BY created_at RANGE BETWEEN interval '7 days' PRECEDING AND CURRENT ROW) FROM orders
SELECT ntile(4) OVER (ORDER BY total), cume_dist() OVER (ORDER BY total), percent_rank() OVER (ORDER BY total), dense_rank() OVER (ORDER BY total) FROM orders
SELECT region, product, sum(amount) FROM sales GROUP BY GROUPING SETS ((region), (product), ())
SELECT region, product, grouping(region, product), sum(amount) FROM sales GROUP BY ROLLUP (region, product)
SELECT region, product, sum(amount) FROM sales GROUP BY CUBE (region, product) HAVING sum(amount) > 100
SELECT d::date, coalesce(c.n, 0) FROM generate_series('2024-01-01'::date, '2024-12-31', '1 day') d LEFT JOIN (SELECT created_at::date AS d, count(*) AS n FROM orders GROUP BY 1) c USING (d)
SELECT c.name, o.* FROM customers c CROSS JOIN LATERAL (SELECT id, total FROM orders o WHERE o.customer_id = c.id ORDER BY total DESC LIMIT 3) o
WITH RECURSIVE tree AS (SELECT id, parent_id, 1 AS depth FROM nodes WHERE parent_id IS NULL UNION ALL SELECT n.id, n.parent_id, t.depth + 1 FROM nodes n JOIN tree t ON n.parent_id = t.id) SELECT * FROM tree
WITH RECURSIVE g(id, path) AS (SELECT 1, ARRAY[1] UNION ALL SELECT e.dst, g.path || e.dst FROM edges e, g WHERE e.src = g.id) CYCLE id SET is_cycle USING p SELECT * FROM g
WITH RECURSIVE t(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM t WHERE n < 100) SEARCH DEPTH FIRST BY n SET ord SELECT sum(n) FROM t
WITH a AS MATERIALIZED (SELECT * FROM big WHERE x > 5), b AS NOT MATERIALIZED (SELECT * FROM a) SELECT count(*) FROM b
SELECT data->>'name', data#>>'{address,city}', data @> '{"active": true}' FROM users
SELECT jsonb_path_query(data, '$.items[*] ? (@.price > 10)') FROM carts
SELECT jsonb_path_exists(data, '$.a ? (@ == 1)'), data @? '$.b', data @@ '$.c == 2' FROM carts
SELECT key, value FROM users, jsonb_each_text(data) WHERE data ? 'email' AND data ?| ARRAY['a','b'] AND data ?& ARRAY['c']
SELECT jsonb_agg(jsonb_build_object('id', id, 'n', name) ORDER BY id) FROM users
SELECT json_object_agg(k, v), array_agg(DISTINCT k ORDER BY k), string_agg(k, ', ' ORDER BY k) FROM kv
SELECT * FROM jsonb_to_recordset('[{"a":1,"b":"x"}]') AS x(a int, b text)
SELECT * FROM json_populate_record(NULL::users, '{"id":1}')
SELECT jsonb_set(data, '{a}', '1'), jsonb_strip_nulls(data), jsonb_pretty(data), data - 'secret', data #- '{a,b}' FROM users
SELECT JSON_ARRAYAGG(id ORDER BY id), JSON_OBJECT('a': 1, 'b': name), JSON_ARRAY(1, 2) FROM users GROUP BY name
SELECT data IS JSON OBJECT FROM raw
SELECT extract(epoch FROM now() - created_at), date_part('dow', created_at), age(created_at) FROM orders
SELECT created_at AT TIME ZONE 'Europe/Berlin', make_date(2024, 2, 29), to_char(created_at, 'YYYY-MM'), to_date('2024', 'YYYY') FROM orders
SELECT date_bin('15 minutes', ts, timestamp '2001-01-01'), count(*) FROM events GROUP BY 1
SELECT now(), current_date, current_timestamp, localtime, clock_timestamp(), statement_timestamp(), justify_interval(interval '40 days')
SELECT (created_at, created_at + interval '1 day') OVERLAPS (now() - interval '7 days', now()) FROM orders
SELECT tsrange(a, b) && tsrange(c, d), int4range(1, 5) * int4range(3, 9), upper(r), lower_inf(r), range_agg(r) FROM spans GROUP BY 1, 2, 3, 4
SELECT lower(name), upper(name), initcap(name), trim(BOTH ' ' FROM name), substring(name FROM 1 FOR 3), overlay(name PLACING 'x' FROM 1), position('a' IN name) FROM users
SELECT regexp_replace(name, '\s+', ' ', 'g'), regexp_matches(name, '(\w+)', 'g'), name ~* '^a', regexp_split_to_table(name, ','), split_part(name, '@', 2) FROM users
SELECT regexp_count(name, 'a'), regexp_like(name, 'b'), regexp_substr(name, 'c'), regexp_instr(name, 'd') FROM users
SELECT name SIMILAR TO '(a|b)%', name ILIKE '%x%' ESCAPE '!', starts_with(name, 'a'), reverse(name), lpad(name, 10, '*'), translate(name, 'ab', 'cd') FROM users
SELECT format('%s-%I', a, b), concat_ws(',', a, b), md5(a), sha256(a::bytea), encode(b::bytea, 'base64'), quote_literal(a) FROM t
SELECT to_tsvector('english', body) @@ plainto_tsquery('english', 'cat dog'), ts_rank(tsv, q), ts_headline(body, q) FROM docs, websearch_to_tsquery('cat') q
SELECT round(avg(x), 2), stddev_samp(x), var_pop(x), corr(x, y), regr_slope(y, x), regr_r2(y, x), covar_pop(x, y) FROM m
SELECT bool_and(ok), bool_or(ok), every(ok), bit_and(f), bit_or(f), max(x), min(x) FROM m
SELECT width_bucket(x, 0, 100, 10), count(*) FROM m GROUP BY 1
SELECT ceil(x), floor(x), trunc(x, 2), mod(x::int, 3), power(x, 2), sqrt(x), ln(x), exp(1), greatest(x, 1), least(x, 2), abs(x), sign(x), random() FROM m
SELECT CASE WHEN x > 1 THEN 'a' WHEN x IS NULL THEN 'b' ELSE 'c' END, nullif(x, 0), coalesce(x, 0) FROM m
SELECT array_length(a, 1), unnest(a), a[1], a[2:3], a || 4, 5 = ANY (a), a @> ARRAY[1], array_position(a, 2), cardinality(a), array_to_string(a, ',') FROM arrays
SELECT * FROM unnest(ARRAY[1,2], ARRAY['a','b']) WITH ORDINALITY AS u(n, s, i)
SELECT * FROM ROWS FROM (generate_series(1, 3), unnest(ARRAY['a','b'])) AS x(a, b)
SELECT DISTINCT ON (customer_id) customer_id, id FROM orders ORDER BY customer_id, created_at DESC NULLS LAST
SELECT * FROM orders TABLESAMPLE BERNOULLI (1) REPEATABLE (42)
SELECT * FROM a FULL OUTER JOIN b USING (id) NATURAL JOIN c
SELECT * FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.id = a.id) AND a.x NOT IN (SELECT x FROM c) AND (a.y, a.z) IN (SELECT y, z FROM d)
SELECT a FROM t UNION SELECT b FROM u INTERSECT SELECT c FROM v EXCEPT ALL SELECT d FROM w ORDER BY 1
SELECT (SELECT max(id) FROM orders), ARRAY(SELECT id FROM customers ORDER BY id LIMIT 5)
SELECT * FROM (VALUES (1, 'a'), (2, 'b')) AS v(id, name)
VALUES (1, 'a'), (2, 'b')
TABLE orders
SELECT pg_size_pretty(pg_total_relation_size('orders')), pg_relation_size('orders'::regclass), pg_database_size(current_database())
SELECT relname, n_live_tup, last_autovacuum FROM pg_stat_user_tables ORDER BY n_dead_tup DESC
SELECT pid, state, wait_event, query_start FROM pg_stat_activity WHERE state <> 'idle'
SELECT table_schema, table_name, column_name, data_type FROM information_schema.columns WHERE table_schema NOT IN ('pg_catalog', 'information_schema')
SELECT conname, pg_get_constraintdef(oid), conrelid::regclass FROM pg_constraint WHERE contype = 'f'
SELECT indexname, indexdef FROM pg_indexes WHERE tablename = 'orders'
SELECT a.attname, format_type(a.atttypid, a.atttypmod), col_description(a.attrelid, a.attnum) FROM pg_attribute a WHERE a.attrelid = 'public.orders'::regclass AND a.attnum > 0 AND NOT a.attisdropped
SELECT c.relname, obj_description(c.oid), c.reltuples::bigint FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE pg_table_is_visible(c.oid)
SELECT pg_get_viewdef('v_orders'::regclass, true), pg_get_functiondef(p.oid) FROM pg_proc p WHERE p.proname = 'f'
SELECT version(), current_setting('server_version'), current_user, session_user, current_schema(), inet_server_port(), pg_backend_pid()
SELECT name, setting, unit FROM pg_settings WHERE name LIKE '%mem%'
SELECT has_table_privilege('orders', 'SELECT'), pg_has_role('r', 'member')
SELECT * FROM pg_locks l JOIN pg_stat_activity a USING (pid) WHERE NOT granted
SELECT blocked.pid, pg_blocking_pids(blocked.pid) FROM pg_stat_activity blocked
SELECT nspname, pg_size_pretty(sum(pg_total_relation_size(c.oid))) FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace GROUP BY 1
EXPLAIN SELECT * FROM orders WHERE id = 1
EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT count(*) FROM orders
EXPLAIN (COSTS OFF) UPDATE orders SET state = 'x'
SHOW server_version
SHOW ALL
SELECT id FROM orders ORDER BY created_at DESC OFFSET 20 ROWS FETCH NEXT 10 ROWS ONLY
SELECT id FROM orders WHERE created_at >= date '2024-01-01' AND created_at < date '2024-02-01' LIMIT 100
SELECT id FROM orders WHERE tags && ARRAY['a']::text[] AND note IS DISTINCT FROM 'x' AND total BETWEEN SYMMETRIC 10 AND 1
SELECT id, xmlelement(name row, xmlattributes(id AS id), name), xmlforest(id, name), xpath('/a/b', doc) FROM x
SELECT x.* FROM feeds, XMLTABLE('/feed/item' PASSING doc COLUMNS id int PATH '@id', title text PATH 'title') AS x
SELECT (row(1, 'a')).f1, ROW(id, name) = ROW(1, 'x') FROM users
SELECT (u.address).city, (u.data).total FROM users u
SELECT u.name, u.email, s.label FROM users u JOIN states s ON s.id = u.state_id
SELECT E'a\nb', U&'d\0061t\+000061', $q$it's$q$, B'101', X'1F', 1e10, .5, 1_000
SELECT "Order Id", "from" FROM "My Table" WHERE "select" = 1
SELECT cast(x AS numeric), x::int8, int '5', interval '1' day, date 'today', point(1, 2) <-> point(3, 4) FROM t
SELECT 'a' || 'b', 5 # 3, 5 & 3, ~5, @ -5, |/ 25, 2 ^ 3, 7 % 3, 1 << 4, NOT true, -x FROM t
SELECT host(ip), network(ip), masklen(ip), ip << inet '10.0.0.0/8' FROM hosts
SELECT gen_random_uuid(), uuid_generate_v4(), digest('a', 'sha256'), similarity(a, b), a % b, levenshtein(a, b), unaccent(a) FROM t
SELECT embedding <-> '[1,2,3]', cosine_distance(embedding, '[1,2,3]') FROM items ORDER BY embedding <=> '[3,1,2]' LIMIT 5
SELECT h -> 'a', h ? 'b', akeys(h), hstore('a', 'b') FROM hs
SELECT subpath(path, 0, 2), nlevel(path), path <@ 'a.b' FROM trees
SELECT sum(x) FILTER (WHERE y > 0) OVER (PARTITION BY z), count(*) OVER () FROM t
SELECT rank(5) WITHIN GROUP (ORDER BY x) FROM t
SELECT normalize(a, NFC), a IS NFD NORMALIZED, a COLLATE "C" FROM t
SELECT * FROM orders o WHERE o.ctid = '(0,1)' AND o.tableoid = 'orders'::regclass AND xmin::text = '1'
SELECT pg_typeof(x), pg_column_size(x), num_nulls(a, b), txid_current_snapshot(), pg_current_xact_id_if_assigned() FROM t
SELECT lower(r), isempty(r), r -|- s, r << s, range_merge(r, s) FROM spans
SELECT * FROM pg_catalog.pg_tables WHERE schemaname = 'public'
SELECT ts_rank_cd(to_tsvector(body), to_tsquery('a & b')), setweight(to_tsvector(title), 'A'), strip(tsv), tsvector_to_array(tsv) FROM docs
SELECT array_agg(x ORDER BY y DESC) FILTER (WHERE z), any_value(q), jsonb_object_agg(k, v), xmlagg(d), range_intersect_agg(r) FROM t GROUP BY ()
SELECT to_regclass('public.orders'), 'orders'::regclass::oid, 'int4'::regtype, current_schemas(true)
`
