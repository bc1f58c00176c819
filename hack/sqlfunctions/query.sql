-- The functions that SQL text can call: name, the volatilities of its
-- overloads, and where it comes from ("postgres" or an extension). Functions
-- that take or give values of the server's insides cannot be called from SQL.
select p.proname,
       string_agg(distinct p.provolatile::text, '' order by p.provolatile::text),
       coalesce(min(e.extname), 'postgres'),
       current_setting('server_version')
from pg_proc p
left join pg_depend d on d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e'
left join pg_extension e on e.oid = d.refobjid
where (p.pronamespace = 'pg_catalog'::regnamespace or e.oid is not null)
  and p.prorettype not in ('internal'::regtype, 'trigger'::regtype, 'event_trigger'::regtype, 'language_handler'::regtype,
                           'index_am_handler'::regtype, 'table_am_handler'::regtype, 'fdw_handler'::regtype)
  and ('internal'::regtype <> all (p.proargtypes) or p.proname in ('bernoulli', 'system', 'system_rows', 'system_time'))
group by p.proname
union all
-- The name of a type, called like a function, is a cast.
select t.typname, 's', 'postgres', current_setting('server_version')
from pg_type t
where t.typnamespace = 'pg_catalog'::regnamespace and t.typtype in ('b', 'r', 'm') and t.typcategory <> 'A'
  and not exists (select from pg_proc p where p.proname = t.typname)
order by 1;
