package sqlclass

import "testing"

func TestFunctionsAreKnownByTheNameThatTheServerResolves(t *testing.T) {
	c, err := newCatalog(functionsText)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		schema, name string
		want         effect
	}{
		{"", "lower", pure},
		{"pg_catalog", "lower", pure},
		{"public", "lower", unknown}, // anybody's
		{"", "Lower", unknown},       // quoted: another function
		{"", "now", reads},
		{"", "nextval", writes},
		{"evil", "nextval", unknown},
		{"", "setval", admin},
		{"evil", "setval", admin},
		{"", "pg_read_file", file},
		{"public", "PG_Read_File", file},
		{"", "pg_ls_waldir", file},
		{"", "pg_ls_somenewdir", file},
		{"", "dblink", network},
		{"extensions", "dblink_exec", network},
		{"net", "http_get", network},
		{"aws_s3", "query_export_to_s3", network},
		{"", "query_to_xml_and_xmlschema", sqltext},
		{"cron", "schedule", sqltext},
		{"cron", "schedule_in_database", sqltext},
		{"cron", "unschedule", admin},
		{"", "schedule", unknown},
		{"", "pg_create_logical_replication_slot", server},
		{"", "pg_get_replication_slots", reads},
		{"", "pg_stat_get_replication_slot", reads},
		{"", "pg_stat_reset_replication_slot", admin},
		{"", "pg_stat_statements_reset", admin},
		{"", "pg_sleep_until", server},
		{"", "pg_try_advisory_xact_lock_shared", admin},
		{"", "similarity", pure},
		{"", "st_area", unknown},
		{"information_schema", "_pg_expandarray", reads},
		{"", "regtype", reads}, // a cast
		{"", "", unknown},
	} {
		if got := c.lookup(tc.schema, tc.name); got != tc.want {
			t.Errorf("%s.%s: effect %d, want %d", tc.schema, tc.name, got, tc.want)
		}
	}
}

func TestNoEffectIsHarmlessByAccident(t *testing.T) {
	for name, e := range effects() {
		if harmless := name == "pure" || name == "reads"; (e.class() == Read) != harmless {
			t.Errorf("%s has class %s", name, e.class())
		}
	}
	if unknown.class() != Forbidden {
		t.Error("the zero effect is not forbidden")
	}
	if Class(0).String() != "forbidden" {
		t.Error("the zero class does not read forbidden")
	}
}

func TestTheCacheStaysWithinItsBytesAndKeepsWhatIsUsed(t *testing.T) {
	entry := func(i int) string { return string(rune('a'+i)) + "SELECT 1" }
	report := &Report{Class: Read}
	cost := len(entry(0)) + report.size() + entryOverhead
	c := newCache[*Report](10 * cost)
	for i := range 12 {
		c.get(entry(0)) // the first is used again and again
		c.put(entry(i), report)
		c.put(entry(i), report) // twice is once
		if c.used > c.limit {
			t.Fatalf("%d bytes used of %d", c.used, c.limit)
		}
	}
	if c.get(entry(0)) == nil || c.get(entry(11)) == nil {
		t.Error("what was used last is gone")
	}
	if c.get(entry(1)) != nil {
		t.Error("what was used least is still there")
	}
	c.put("large", &Report{Hint: string(make([]byte, 5*cost))})
	if c.get("large") != nil {
		t.Error("one report took half of the cache")
	}
	if none := newCache[*Report](-1); none.limit > 0 {
		t.Error("a cache that is switched off keeps something")
	}
}
