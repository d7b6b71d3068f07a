// Package servicediscovery stands in for the client of AWS Cloud Map: the names that the load_balancing exporter
// compiles against, and an error wherever one of them would be used. No code of AWS is in it.
package servicediscovery

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/servicediscovery/types"
)

var errAbsent = errors.New(
	"this Collector was built without AWS Cloud Map: use the resolver static, dns or k8s, or the contrib distribution",
)

// Options is never read.
type Options struct{}

// DiscoverInstancesInput is what the exporter fills in.
type DiscoverInstancesInput struct {
	NamespaceName      *string
	ServiceName        *string
	OwnerAccount       *string
	MaxResults         *int32
	HealthStatus       types.HealthStatusFilter
	OptionalParameters map[string]string
	QueryParameters    map[string]string
}

// DiscoverInstancesOutput is never made.
type DiscoverInstancesOutput struct {
	Instances []types.HttpInstanceSummary
}

// Client finds nobody.
type Client struct{}

// NewFromConfig makes a client that finds nobody.
func NewFromConfig(_ aws.Config, _ ...func(*Options)) *Client {
	return &Client{}
}

// DiscoverInstances always fails, in words that say what to do instead.
func (c *Client) DiscoverInstances(
	_ context.Context, _ *DiscoverInstancesInput, _ ...func(*Options),
) (*DiscoverInstancesOutput, error) {
	return nil, errAbsent
}
