module github.com/hookpolicy/hookpolicy/test/postgres

go 1.26.0

replace github.com/hookpolicy/hookpolicy => ../..

require (
	github.com/hookpolicy/hookpolicy v0.0.0-00010101000000-000000000000
	github.com/jackc/pgx/v5 v5.13.0
)

require (
	github.com/jackc/pgpassfile v1.0.0 // indirect
	github.com/jackc/pgservicefile v0.0.0-20240606120523-5a60cdf6a761 // indirect
	github.com/pganalyze/pg_query_go/v5 v5.1.0 // indirect
	golang.org/x/text v0.44.0 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
)
