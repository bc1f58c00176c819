package strictjson_test

import (
	"testing"

	"github.com/hookpolicy/hookpolicy/internal/strictjson"
)

const benchDoc = `{"callId":"0192f0c1-7a7b-7c3d-8e9f-0123456789ab","tool":"db_query_sql","args":{"sql":"SELECT id, name FROM customers WHERE region = 'north' ORDER BY name","params":["a",1],"read_only":true},"session":"session-1"}`

func BenchmarkParse(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := strictjson.Parse([]byte(benchDoc)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppend(b *testing.B) {
	v, err := strictjson.Parse([]byte(benchDoc))
	if err != nil {
		b.Fatal(err)
	}
	var dst []byte
	b.ReportAllocs()
	for b.Loop() {
		if dst, err = strictjson.Append(dst[:0], v); err != nil {
			b.Fatal(err)
		}
	}
}
