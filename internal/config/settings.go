package config

import (
	"slices"
	"strings"

	"github.com/retinue-dev/retinue/internal/config/document"
	"github.com/retinue-dev/retinue/internal/config/role"
)

// Settings is everything that can be configured apart from roles. The zero value of a field means
// that it was not set; Defaults fills in the defaults.
type Settings struct {
	Schema  string `json:"$schema,omitempty" jsonschema:"address of this schema, for editors"`
	DataDir string `json:"data_dir,omitempty" personal:"true" jsonschema:"where conversations are kept when no journal is named"`
	// Providers are by the name that models are prefixed with.
	Providers map[string]Provider `json:"providers,omitempty" personal:"true" jsonschema:"the model providers, by the name that models are prefixed with"`
	Tiers     Tiers               `json:"tiers,omitzero" jsonschema:"the model that each tier stands for, as provider/model"`
	// Fallbacks are tried in order when a model cannot be reached.
	Fallbacks map[string][]string `json:"fallbacks,omitempty" jsonschema:"models to try, in order, when a tier or model cannot be reached"`
	Models    map[string]Model    `json:"models,omitempty" personal:"true" jsonschema:"what is known of a model, by provider/model; overrides the built-in list"`
	Roles     RoleSettings        `json:"roles,omitzero" jsonschema:"what applies to all roles"`
	// Permissions are rules for every role. Denials of all layers add up.
	Permissions role.Permissions `json:"permissions,omitzero" jsonschema:"rules for the tools of every role"`
	Journal     Journal          `json:"journal,omitzero" personal:"true" jsonschema:"where everything is recorded"`
	Live        Live             `json:"live,omitzero" personal:"true" jsonschema:"how text reaches the screen while it is written"`
	Engine      Engine           `json:"engine,omitzero" personal:"true" jsonschema:"the Temporal server that carries out the work"`
	Sandbox     Sandbox          `json:"sandbox,omitzero" personal:"true" jsonschema:"what confines the programs that agents start"`
	Canaries    Canaries         `json:"canaries,omitzero" jsonschema:"what agents must not send anywhere, beside the secrets that the settings refer to"`
	Taint       Taint            `json:"taint,omitzero" operator:"true" jsonschema:"what strangers wrote, and what an agent that read it may do nevertheless; a project cannot set it"`
	Web         Web              `json:"web,omitzero" personal:"true" jsonschema:"what agents may read of the web"`
	Worker      Worker           `json:"worker,omitzero" personal:"true" jsonschema:"what one worker takes on"`
	Quotas      Quotas           `json:"quotas,omitzero" personal:"true" jsonschema:"how much a tenant may use; on a machine of your own, you"`
	Serve       Serve            `json:"serve,omitzero" personal:"true" jsonschema:"where people and programs reach the server"`
	Telemetry   Telemetry        `json:"telemetry,omitzero" personal:"true" jsonschema:"what traces hold; where they go is said by the OTEL_ variables"`
	Retention   Retention        `json:"retention,omitzero" personal:"true" jsonschema:"when conversations are deleted by themselves"`
	Webhooks    Webhooks         `json:"webhooks,omitzero" personal:"true" jsonschema:"other programs that are told what happens"`
	Sealing     Sealing          `json:"sealing,omitzero" personal:"true" jsonschema:"the key of secrets that the server keeps"`
	// Trust lists projects whose files may allow what people would otherwise be asked about.
	Trust []string `json:"trust,omitempty" personal:"true" jsonschema:"folders of projects whose settings and roles are trusted"`
}

// Provider is a server that speaks one of the two protocols.
type Provider struct {
	Kind    ProviderKind `json:"kind,omitempty" jsonschema:"the protocol it speaks"`
	BaseURL string       `json:"base_url,omitempty" jsonschema:"where it listens, if not at the usual address"`
	Key     Secret       `json:"key,omitzero" jsonschema:"where its key is: {env:NAME} or {file:path}"`
	// Concurrency and the rate are for this process; zero leaves them to the provider.
	Concurrency       int `json:"concurrency,omitempty" jsonschema:"calls at the same time"`
	RequestsPerMinute int `json:"requests_per_minute,omitempty" jsonschema:"calls begun in a minute"`
}

// ProviderKind is the protocol that a provider speaks.
type ProviderKind string

// The kinds of providers. Every server that is compatible with OpenAI's is of that kind.
const (
	KindAnthropic ProviderKind = "anthropic"
	KindOpenAI    ProviderKind = "openai"
)

// Tiers name a model each, as provider/model.
type Tiers struct {
	Fast     string `json:"fast,omitempty" jsonschema:"for searching and simple work"`
	Balanced string `json:"balanced,omitempty" jsonschema:"for most work"`
	Strong   string `json:"strong,omitempty" jsonschema:"for planning, judging and the main agent"`
}

// Model is the data of a model. Prices are for a million tokens.
type Model struct {
	Window     int   `json:"window,omitempty" jsonschema:"context window in tokens"`
	MaxOutput  int   `json:"max_output,omitempty" jsonschema:"most tokens of one reply"`
	TextOnly   bool  `json:"text_only,omitempty" jsonschema:"it takes no images; it is told that there was one"`
	Input      Price `json:"input_usd,omitempty" jsonschema:"US dollars for a million tokens sent"`
	Output     Price `json:"output_usd,omitempty" jsonschema:"US dollars for a million tokens received"`
	CacheRead  Price `json:"cache_read_usd,omitempty" jsonschema:"US dollars for a million tokens read from the cache"`
	CacheWrite Price `json:"cache_write_usd,omitempty" jsonschema:"US dollars for a million tokens written to the cache"`
}

// Price is an amount in millionths of a US dollar, written in dollars.
type Price int64

// RoleSettings apply to all roles.
type RoleSettings struct {
	role.Defaults
	Preset string `json:"preset,omitempty" jsonschema:"a set of roles above the built-in ones: software_team"`
}

// Journal is where records are kept.
type Journal struct {
	DSN Secret `json:"dsn,omitzero" jsonschema:"address of the PostgreSQL database; empty means SQLite in data_dir"`
}

// Live is how deltas travel.
type Live struct {
	NATS Secret `json:"nats_url,omitzero" jsonschema:"address of a NATS server; empty means within the process"`
}

// Serve is where the server listens, and for whom.
type Serve struct {
	Address string `json:"address,omitempty" jsonschema:"host:port to listen on; empty means 127.0.0.1:7433"`
	Health  string `json:"health,omitempty" jsonschema:"host:port for health and metrics; empty means 127.0.0.1:7434 for serve, none for up"`
	URL     string `json:"url,omitempty" jsonschema:"the address that people type, if not the one it listens on"`
	OIDC    OIDC   `json:"oidc,omitzero" jsonschema:"where people log in, for a server that several share; needs journal.dsn and serve.url"`
	// Proxies are believed when they say whom they stand for.
	Proxies []string `json:"proxies,omitempty" jsonschema:"networks of load balancers in front of the server, such as 10.0.0.0/8"`
	Profile bool     `json:"profile,omitempty" jsonschema:"whether the port for health also serves profiles of the program (pprof)"`
	TLS     TLS      `json:"tls,omitzero" jsonschema:"certificate and key; without them something in front must speak TLS"`
	// Limits bound the load of a server.
	Limits ServeLimits `json:"limits,omitzero" jsonschema:"what the server takes on before it refuses; 0 is no bound"`
}

// TLS is the certificate of a server.
type TLS struct {
	Cert string `json:"cert,omitempty" jsonschema:"file with the certificate and those above it, as PEM"`
	Key  string `json:"key,omitempty" jsonschema:"file with the key of the certificate, as PEM"`
}

// ServeLimits bound the load of a server. Zero is no bound.
type ServeLimits struct {
	Commands      int             `json:"commands,omitempty" jsonschema:"commands carried out at a time by one server"`
	Latency       document.Millis `json:"latency,omitempty" jsonschema:"how long a command may take before fewer are carried out at a time"`
	CommandRate   int             `json:"command_rate,omitempty" jsonschema:"commands in a second with one key or login"`
	TenantRate    int             `json:"tenant_command_rate,omitempty" jsonschema:"commands in a second of a whole tenant"`
	ReadRate      int             `json:"read_rate,omitempty" jsonschema:"other requests in a second with one key or login"`
	TenantReads   int             `json:"tenant_read_rate,omitempty" jsonschema:"other requests in a second of a whole tenant"`
	Streams       int             `json:"streams,omitempty" jsonschema:"open streams of one server"`
	PersonStreams int             `json:"person_streams,omitempty" jsonschema:"open streams of one person"`
	TenantStreams int             `json:"tenant_streams,omitempty" jsonschema:"open streams of a whole tenant"`
	// The bounds of an address hold where people log in: on a machine of one's own all have the same.
	AddressRate    int `json:"address_rate,omitempty" jsonschema:"requests in a second from one address, on a server where people log in"`
	AddressStreams int `json:"address_streams,omitempty" jsonschema:"open streams of one address, on a server where people log in"`
	Uploads        int `json:"uploads,omitempty" jsonschema:"imports that arrive at a time at one server"`
	TenantUploads  int `json:"tenant_uploads,omitempty" jsonschema:"imports of a whole tenant that arrive at a time at one server"`
	TenantSearches int `json:"tenant_searches,omitempty" jsonschema:"searches of a whole tenant at a time at one server"`
	// Backlog is how many posts may wait for the engine, and Delay how long an append may take, before
	// commands are refused.
	Backlog int             `json:"backlog,omitempty" jsonschema:"messages that may wait for the engine before commands are refused, at most 1000"`
	Delay   document.Millis `json:"delay,omitempty" jsonschema:"how long the journal may take to write before commands are refused"`
}

// Worker bounds the load of one worker.
type Worker struct {
	Slots       int `json:"slots,omitempty" jsonschema:"orchestrators and background tasks that work at the same time, each with its sub-agents, for each workspace and for those without one"`
	TenantSlots int `json:"tenant_slots,omitempty" jsonschema:"orchestrators and background tasks of one tenant that work at the same time, on an installation where people log in"`
	Family      int `json:"family,omitempty" jsonschema:"sub-agents that run in the slot of their orchestrator at the same time; others take slots of their own, of any worker"`
	CachedRuns  int `json:"cached_runs,omitempty" jsonschema:"workflows that the worker keeps in memory between two messages; others are read from the engine again"`
}

// usualWorker is its default.
var usualWorker = Worker{Slots: 1000, TenantSlots: 50, Family: 2000, CachedRuns: 2000}

// Quotas are how much each tenant may use. Tenants has those of some of them, by id, instead.
type Quotas struct {
	MonthUSD  Price            `json:"month_usd,omitempty" jsonschema:"US dollars that a tenant may spend on models in a calendar month (UTC); none means any amount"`
	StorageMB int              `json:"storage_mb,omitempty" jsonschema:"megabytes that a tenant's conversations may hold before it can begin or say nothing more; none means any amount"`
	Tenants   map[string]Quota `json:"tenants,omitempty" jsonschema:"quotas of single tenants, by id, instead of the general ones"`
}

// Quota is how much one tenant may use.
type Quota struct {
	MonthUSD  Price `json:"month_usd,omitempty" jsonschema:"US dollars that this tenant may spend on models in a calendar month (UTC)"`
	StorageMB int   `json:"storage_mb,omitempty" jsonschema:"megabytes that this tenant's conversations may hold"`
}

// Month is a tenant's budget for a month, in millionths of a US dollar; zero means any amount.
func (q Quotas) Month(tenant string) int64 {
	if own := q.Tenants[tenant]; own.MonthUSD > 0 {
		return int64(own.MonthUSD)
	}
	return int64(q.MonthUSD)
}

// Storage is how many bytes the conversations of a tenant may hold; zero means any number.
func (q Quotas) Storage(tenant string) int64 {
	const megabyte = 1_000_000
	if own := q.Tenants[tenant]; own.StorageMB > 0 {
		return int64(own.StorageMB) * megabyte
	}
	return int64(q.StorageMB) * megabyte
}

// Telemetry selects the data that the program exports about its work, and the receiver.
type Telemetry struct {
	Content bool `json:"content,omitempty" jsonschema:"whether traces hold what was said to models and tools"`
}

// usualLimits are those when nothing is said.
var usualLimits = ServeLimits{
	Commands: 64, Latency: 500, CommandRate: 50, TenantRate: 200, ReadRate: 1000, TenantReads: 4000, Streams: 12_000, PersonStreams: 20,
	TenantStreams: 200, AddressRate: 2000, AddressStreams: 1000, Uploads: 8, TenantUploads: 2, TenantSearches: 4, Backlog: 500, Delay: 2000,
}

// Sealing is where the key of the installation is, under which secrets are kept in the database.
type Sealing struct {
	Key    Secret `json:"key,omitzero" jsonschema:"32 random bytes in base64, the same for all servers; with SQLite one is made in data_dir"`
	Former Secret `json:"former,omitzero" jsonschema:"the key before, until every server was started with the new one"`
}

// Retention says when conversations are deleted by themselves.
type Retention struct {
	// Days is for all tenants; each may have less of them.
	Days int `json:"days,omitempty" jsonschema:"delete conversations that nobody has touched for this many days; 0 keeps them"`
}

// Webhooks says where events may be sent to. Public addresses are always allowed.
type Webhooks struct {
	// Local are addresses that are allowed although they are not public.
	Local []string `json:"local,omitempty" jsonschema:"addresses of your own network that webhooks may be sent to as well, as address:port"`
}

// Engine is the Temporal server.
type Engine struct {
	Temporal  string `json:"temporal_address,omitempty" jsonschema:"host:port of a Temporal server; empty means the embedded one"`
	Namespace string `json:"namespace,omitempty" jsonschema:"the namespace to work in"`
	// TLS and APIKey are how this side shows who it is to a Temporal server of one's own.
	TLS    EngineTLS `json:"tls,omitzero" jsonschema:"how the Temporal server and this program know each other; saying any of it turns TLS on"`
	APIKey Secret    `json:"api_key,omitzero" jsonschema:"where the API key for the Temporal server is: {env:NAME} or {file:path}; turns TLS on"`
}

// EngineTLS names files with certificates, which are read again when they change.
type EngineTLS struct {
	CA         string `json:"ca,omitempty" jsonschema:"file with the authorities that the server's certificate must come from, as PEM; those of the machine if not said"`
	Cert       string `json:"cert,omitempty" jsonschema:"file with the certificate that this program shows, as PEM"`
	Key        string `json:"key,omitempty" jsonschema:"file with the key of that certificate, as PEM; cert if not said"`
	ServerName string `json:"server_name,omitempty" jsonschema:"what the server's certificate must be for; the host of temporal_address if not said"`
}

// Sandbox is the confinement of programs, and its exceptions.
type Sandbox struct {
	Tier      SandboxTier `json:"tier,omitempty" jsonschema:"what it is made of; none confines nothing"`
	AllowRoot bool        `json:"allow_root,omitempty" jsonschema:"whether root may start programs; they then read what only root can read"`
	ReadOnly  []string    `json:"read_only,omitempty" jsonschema:"folders outside of the workspace that programs may read, such as a toolchain"`
	Pass      []string    `json:"pass,omitempty" jsonschema:"names of variables that programs get from the worker's environment"`
	Hosts     []string    `json:"hosts,omitempty" jsonschema:"what programs may reach: a host, *.host for all below it, or *; none when empty"`
	HostBytes int         `json:"host_bytes,omitempty" jsonschema:"how many bytes one command, or one MCP server while it runs, may exchange with a host; 1 GiB if not said"`
}

// SandboxTier names the technique of a sandbox.
type SandboxTier string

// The tiers.
const (
	SandboxBubblewrap SandboxTier = "bubblewrap"
	SandboxGVisor     SandboxTier = "gvisor"
	SandboxNone       SandboxTier = "none"
)

// Canaries are values that are refused in everything that agents send. They are found in the usual
// encodings.
type Canaries struct {
	// Values of all layers add up: a project can make the list longer only.
	Values []string `json:"values,omitempty" jsonschema:"texts of 8 bytes or more that must not leave"`
	Files  []string `json:"files,omitempty" personal:"true" jsonschema:"files of the workspace whose values must not leave if they look like secrets: paths from its top, with * and ?"`
}

// usualCanaries are the files when nothing is said: those at the top of the workspace and in two
// levels of folders.
var usualCanaries = Canaries{Files: []string{".env", ".env.*", "*/.env", "*/.env.*", "*/*/.env", "*/*/.env.*"}}

// Web bounds the addresses of web_fetch and web_search.
type Web struct {
	// Hosts are allowed if they are public, on ports 80 and 443 or the one that is named.
	Hosts []string `json:"hosts,omitempty" jsonschema:"public hosts that pages may be read from: a name, *.name, * for all, each with :port if it is not the usual one"`
	// Local are addresses that are allowed although they are not public.
	Local  []string `json:"local,omitempty" jsonschema:"addresses of your own network that may be reached too, as address:port"`
	Search Search   `json:"search,omitzero" jsonschema:"the search engine; without a key there is no web_search"`
}

// Taint lists the sources that count as written by strangers, beside pages and MCP servers, and the
// calls that an agent which has read such a text may still make by the rules.
type Taint struct {
	// Sinks are calls to which the rules apply although their agent is tainted.
	Sinks []string `json:"sinks,omitempty" jsonschema:"calls that the rules decide about although their agent has read what a stranger wrote, such as web_fetch(https://docs.example.com/*)"`
	// Files are patterns of paths, at any depth of the workspace.
	Files []string `json:"files,omitempty" jsonschema:"files of the workspace that strangers wrote, at any depth, such as node_modules/**"`
}

// usualStrangers are where package managers put what strangers wrote.
var usualStrangers = []string{"node_modules/**", "vendor/**", "third_party/**", ".venv/**", "site-packages/**"}

// SinkRules are the sinks as rules that allow.
func (t Taint) SinkRules() ([]role.Rule, error) { return role.Permissions{Allow: t.Sinks}.Rules() }

// Strange reports whether strangers write a file. A pattern fits a path, or a part of it after a
// slash.
func (t Taint) Strange(path string) bool {
	for _, pattern := range t.Files {
		for rest, more := path, true; more; _, rest, more = strings.Cut(rest, "/") {
			if role.Wild(pattern, rest) {
				return true
			}
		}
	}
	return false
}

// Search is a search engine of the web.
type Search struct {
	Kind    SearchKind `json:"kind,omitempty" jsonschema:"whose protocol it speaks"`
	BaseURL string     `json:"base_url,omitempty" jsonschema:"where it listens, if not at the usual address"`
	Key     Secret     `json:"key,omitzero" jsonschema:"where its key is: {env:NAME} or {file:path}"`
}

// SearchKind is the protocol of a search engine.
type SearchKind string

// KindTavily is the search engine of that name.
const KindTavily SearchKind = "tavily"

// usualURL is where each kind listens if nothing else is said.
var usualURL = map[ProviderKind]string{
	KindAnthropic: "https://api.anthropic.com", KindOpenAI: "https://api.openai.com/v1",
}

// Defaults are the settings when nothing is said. They name no model.
func Defaults(dataHome string) Settings {
	return Settings{
		DataDir: dataHome,
		Providers: map[string]Provider{
			"anthropic": {Kind: KindAnthropic, BaseURL: usualURL[KindAnthropic], Key: Secret{ref: "{env:ANTHROPIC_API_KEY}"}},
			"openai":    {Kind: KindOpenAI, BaseURL: usualURL[KindOpenAI], Key: Secret{ref: "{env:OPENAI_API_KEY}"}},
		},
		Engine:   Engine{Namespace: "retinue"},
		Worker:   usualWorker,
		Serve:    Serve{Limits: usualLimits},
		Sandbox:  Sandbox{Tier: SandboxBubblewrap, HostBytes: 1 << 30},
		Canaries: Canaries{Files: slices.Clone(usualCanaries.Files)},
		Taint:    Taint{Files: usualStrangers},
		Web: Web{Hosts: []string{"*"}, Search: Search{
			Kind: KindTavily, BaseURL: "https://api.tavily.com", Key: Secret{ref: "{env:TAVILY_API_KEY}"},
		}},
	}
}
