package durable

import (
	"testing"

	"github.com/retinue-dev/retinue/internal/host"
)

func TestQueuesOfTenants(t *testing.T) {
	seen := map[string]host.Workspace{}
	for _, at := range []host.Workspace{
		{Tenant: "acme", Name: "shop"}, {Tenant: "mallory", Name: "shop"}, {Tenant: "acme", Name: "stall"}, {Tenant: "local", Name: "/srv/shop"}, {Tenant: "acme"},
	} {
		if other, taken := seen[queueOf(at)]; taken {
			t.Errorf("%v and %v share %s", at, other, queueOf(at))
		}
		seen[queueOf(at)] = at
	}
	if got := queueOf(host.Workspace{Tenant: "acme"}); got != controlQueue {
		t.Errorf("without a workspace: %s", got)
	}
}
