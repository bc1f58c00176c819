module github.com/hookpolicy/hookpolicy/hack/promcheck

go 1.26.0

require (
	github.com/VictoriaMetrics/metricsql v0.87.3
	sigs.k8s.io/yaml v1.6.0
)

require (
	github.com/VictoriaMetrics/metrics v1.35.3 // indirect
	github.com/valyala/fastrand v1.1.0 // indirect
	github.com/valyala/histogram v1.2.0 // indirect
	go.yaml.in/yaml/v2 v2.4.2 // indirect
	golang.org/x/sys v0.32.0 // indirect
)
