// Package types holds the two types that the load_balancing exporter names.
package types

// HealthStatusFilter says which instances are wanted.
type HealthStatusFilter string

// The values that a configuration may name.
const (
	HealthStatusFilterHealthy          HealthStatusFilter = "HEALTHY"
	HealthStatusFilterUnhealthy        HealthStatusFilter = "UNHEALTHY"
	HealthStatusFilterAll              HealthStatusFilter = "ALL"
	HealthStatusFilterHealthyOrElseAll HealthStatusFilter = "HEALTHY_OR_ELSE_ALL"
)

// HttpInstanceSummary is one instance.
type HttpInstanceSummary struct {
	Attributes map[string]string
}
