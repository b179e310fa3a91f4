package main

import (
	"context"
	"encoding/json"
	"net"
	"slices"
	"testing"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/retinue-dev/retinue/internal/doctor"
	"github.com/retinue-dev/retinue/internal/mtls"
)

// guarded is the part of Temporal's protocol with which a client begins. It wants an API key, if it
// has one.
type guarded struct {
	workflowservice.UnimplementedWorkflowServiceServer
	key string
}

func (g guarded) GetSystemInfo(ctx context.Context, _ *workflowservice.GetSystemInfoRequest) (*workflowservice.GetSystemInfoResponse, error) {
	if sent, _ := metadata.FromIncomingContext(ctx); g.key != "" && !slices.Equal(sent.Get("authorization"), []string{"Bearer " + g.key}) {
		return nil, status.Error(codes.Unauthenticated, "who are you?")
	}
	return &workflowservice.GetSystemInfoResponse{}, nil
}

// serveGuarded listens with the certificates of a folder, and wants one from there.
func serveGuarded(t *testing.T, folder, key string) string {
	t.Helper()
	secure, err := mtls.Server(folder).ServerConfig()
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(grpc.Creds(credentials.NewTLS(secure)))
	workflowservice.RegisterWorkflowServiceServer(server, guarded{key: key})
	go func() { _ = server.Serve(listener) }() // it ends with the test
	t.Cleanup(server.Stop)
	return listener.Addr().String()
}

// TestEngineCredentials tries what the settings say about TLS and the API key on servers that want
// both.
func TestEngineCredentials(t *testing.T) {
	ours, theirs := t.TempDir(), t.TempDir()
	for _, dir := range []string{ours, theirs} {
		if err := mtls.Ensure(dir, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	at := serveGuarded(t, ours, "rt-right")
	us, them := mtls.Client(ours), mtls.Client(theirs)
	tls := func(ca, cert string, more ...string) []string {
		return append([]string{"engine.tls.ca=" + ca, "engine.tls.cert=" + cert, "engine.api_key={env:ENGINE_KEY}"}, more...)
	}
	for name, c := range map[string]struct {
		set  []string
		want string
	}{
		"all of it":        {tls(us.CA, us.Cert), "ok"},
		"a name":           {tls(us.CA, us.Cert, "engine.tls.server_name=localhost"), "ok"},
		"a key of its own": {tls(us.CA, us.Cert, "engine.tls.key="+us.Cert), "ok"},
		"nothing":          {nil, "fail"},
		"no key":           {tls(us.CA, us.Cert)[:2], "fail"},
		"no certificate":   {[]string{"engine.tls.ca=" + us.CA, "engine.api_key={env:ENGINE_KEY}"}, "fail"},
		"no authority":     {[]string{"engine.tls.cert=" + us.Cert, "engine.api_key={env:ENGINE_KEY}"}, "fail"},
		"the key alone":    {[]string{"engine.api_key={env:ENGINE_KEY}"}, "fail"},
		"another's":        {tls(us.CA, them.Cert), "fail"},
		"another server":   {tls(them.CA, us.Cert), "fail"},
		"another name":     {tls(us.CA, us.Cert, "engine.tls.server_name=example.org"), "fail"},
		"a missing file":   {tls("/nowhere/ca.pem", us.Cert), "fail"},
		"a wrong key":      {tls(us.CA, us.Cert, "engine.api_key={env:WRONG_KEY}"), "fail"},
		"a missing key":    {tls(us.CA, us.Cert, "engine.api_key={env:NO_SUCH_KEY}"), "fail"},
	} {
		args := []string{"doctor", "--json", "--set", "engine.temporal_address=" + at, "--set", "data_dir=" + t.TempDir()}
		for _, setting := range c.set {
			args = append(args, "--set", setting)
		}
		cmd := program(t, args...)
		cmd.Env = append(cmd.Env, "HOME="+t.TempDir(), "XDG_CONFIG_HOME=", "ENGINE_KEY=rt-right", "WRONG_KEY=rt-wrong")
		out, _ := cmd.Output() // it fails, since there are no models
		var findings []doctor.Finding
		if err := json.Unmarshal(out, &findings); err != nil {
			t.Fatalf("%s: %v: %s", name, err, out)
		}
		i := slices.IndexFunc(findings, func(f doctor.Finding) bool { return f.Check == "engine" })
		if i < 0 || string(findings[i].Level) != c.want {
			t.Errorf("%s: want %s: %s", name, c.want, out)
		}
	}
}
