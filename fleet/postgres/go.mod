module github.com/farad-go/farad/fleet/postgres

go 1.26.0

replace (
	github.com/farad-go/farad => ../..
	github.com/farad-go/farad/fleet => ..
)

require (
	github.com/farad-go/farad v0.1.0
	github.com/farad-go/farad/fleet v0.1.0
	github.com/jackc/pgx/v5 v5.13.0
	github.com/stretchr/testify v1.12.1
)

require (
	github.com/google/pprof v0.0.0-20261016150608-1facf8f91b50 // indirect
	github.com/jackc/pgpassfile v1.0.0 // indirect
	github.com/jackc/pgservicefile v0.0.0-20240606120523-5a60cdf6a761 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/text v0.43.0 // indirect
)
