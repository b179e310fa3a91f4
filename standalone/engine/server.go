package engine

import (
	"net/netip"
	"time"

	"go.temporal.io/server/common/authorization"
	"go.temporal.io/server/common/cluster"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/dynamicconfig"
	"go.temporal.io/server/common/membership/static"
	"go.temporal.io/server/common/primitives"
	"go.temporal.io/server/temporal"
)

const (
	// shards cannot be changed once a store is made. At work, four take 210 to 330 MB of memory and 512
	// take 415 to 530 MB, for a gain that only a wide fan-out on Postgres sees.
	shards = 4
	// pollRPS is the budget of a queue for reads of the store. The default, 20, is made for servers
	// of thousands of shards; here the slowest runs waited for it.
	pollRPS = 1000
	// longPoll is how long a reader of a history waits before it asks again. It belongs to the set that
	// was measured; alone it was not, and stopping is as quick with the default, 20 seconds.
	longPoll = 2 * time.Second
	// eventsCache, in bytes, holds the events that start the children of one parent until they run. The
	// default, 512 KiB, holds some 700: beyond, each start reads all of them from the store.
	eventsCache = 16 << 20
	// queueContended makes tasks that change one workflow at the same time, such as a parent of
	// hundreds, wait for each other. By default a task that comes too early is postponed for a
	// second or more: 512 children of one parent took 18 s, half of it waiting, and now take 8.
	queueContended = true
	// visibilityRPS is the list requests of one namespace per second; the default, 10, is for a
	// server that many share.
	visibilityRPS = 100

	clusterName = "active"
	off         = "disabled"
)

// dynamic are the settings that differ from the server's own.
func dynamic(s store) dynamicconfig.StaticClient {
	return dynamicconfig.StaticClient{
		dynamicconfig.TransferProcessorMaxPollRPS.Key():                  pollRPS,
		dynamicconfig.TimerProcessorMaxPollRPS.Key():                     pollRPS,
		dynamicconfig.OutboundProcessorMaxPollRPS.Key():                  pollRPS,
		dynamicconfig.HistoryLongPollExpirationInterval.Key():            longPoll,
		dynamicconfig.TaskSchedulerEnableExecutionQueueScheduler.Key():   queueContended,
		dynamicconfig.EventsCacheMaxSizeBytes.Key():                      eventsCache,
		dynamicconfig.FrontendMaxNamespaceVisibilityRPSPerInstance.Key(): visibilityRPS,
		// It would check for new versions over the internet every hour.
		dynamicconfig.EnableServerVersionCheck.Key(): false,
		// Tasks that wait for a worker are handed out tenant by tenant.
		dynamicconfig.MatchingEnableFairness.Key(): s.shared,
	}
}

func newServer(s store, ports *held, tls secure, log serverLog) (temporal.Server, error) {
	settings := configuration(s, ports)
	authorizer, err := authorization.GetAuthorizerFromConfig(&settings.Global.Authorization)
	if err != nil {
		return nil, err
	}
	claims, err := authorization.GetClaimMapperFromConfig(&settings.Global.Authorization, log)
	if err != nil {
		return nil, err
	}
	hosts := map[primitives.ServiceName]static.Hosts{}
	for name, at := range ports.at {
		hosts[name] = static.SingleLocalHost(at.String())
	}
	return temporal.NewServer(
		temporal.WithConfig(settings),
		temporal.ForServices(temporal.DefaultServices),
		temporal.WithStaticHosts(hosts),
		temporal.WithLogger(log),
		temporal.WithTLSConfigFactory(tls),
		temporal.WithAuthorizer(authorizer),
		temporal.WithClaimMapper(func(*config.Config) authorization.ClaimMapper { return claims }),
		temporal.WithDynamicConfigClient(dynamic(s)),
	)
}

func configuration(s store, ports *held) *config.Config {
	c := &config.Config{
		Persistence: config.Persistence{
			NumHistoryShards: shards,
			DefaultStore:     "executions",
			VisibilityStore:  "visibility",
			DataStores: map[string]config.DataStore{
				"executions": {SQL: s.executions},
				"visibility": {SQL: s.visibility},
			},
		},
		ClusterMetadata: &cluster.Config{
			FailoverVersionIncrement: 10,
			MasterClusterName:        clusterName,
			CurrentClusterName:       clusterName,
			ClusterInformation: map[string]cluster.ClusterInformation{clusterName: {
				Enabled: true, InitialFailoverVersion: 1, RPCAddress: ports.address(frontend),
			}},
		},
		DCRedirectionPolicy: config.DCRedirectionPolicy{Policy: "noop"},
		PublicClient:        config.PublicClient{HostPort: ports.address(frontend)},
		Services:            map[string]config.Service{},
	}
	c.Global.Membership.BroadcastAddress = ports.at[frontend].Addr().String()
	c.Archival.History.State, c.Archival.Visibility.State = off, off
	c.NamespaceDefaults.Archival.History.State = off
	c.NamespaceDefaults.Archival.Visibility.State = off
	for name, at := range ports.at {
		c.Services[string(name)] = listening(at)
	}
	return c
}

func listening(at netip.AddrPort) config.Service {
	return config.Service{RPC: config.RPC{GRPCPort: int(at.Port()), BindOnIP: at.Addr().String()}}
}
