package supply

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

const root = "../.."

var built = flag.String("built", "", "the folder of built programs with their bills of materials, to be compared with each other")

// TestABillNamesWhatIsInside makes the bill of a program of our own, and compares it with the
// output of the go command.
func TestABillNamesWhatIsInside(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "run")
	run(t, "go", "build", "-o", binary, "./run")
	p := Program{Name: "run", Module: "internal/supply", Package: "./run"}
	page := part(t, "@example/page", "MIT", nil)
	page.Kind, page.Integrity = NPM, "sha512-"+strings.Repeat("AAAA", 21)+"AA=="
	bill, err := SBOM(context.Background(), root, p, binary, []Part{page})
	if err != nil {
		t.Fatal(err)
	}
	holds(t, bill, binary)
	again, err := SBOM(context.Background(), root, p, binary, []Part{page})
	if !bytes.Equal(bill, again) || err != nil {
		t.Error("the second bill of the same program differs", err)
	}
	for _, want := range []string{`"purl": "pkg:npm/%40example/page@v1.0.0"`, strings.Repeat("00", 64), `"id": "BSD-3-Clause"`} {
		if !strings.Contains(string(bill), want) {
			t.Errorf("the bill lacks %s", want)
		}
	}
	other := Program{Name: "tiers", Module: "internal/tiers", Package: "./run"}
	if _, err := SBOM(context.Background(), root, other, binary, nil); err == nil || !strings.Contains(err.Error(), "build it again") {
		t.Errorf("a program that was built from something else has a bill: %v", err)
	}
}

// TestBuiltPrograms compares the bills that make sbom wrote with the programs beside them.
func TestBuiltPrograms(t *testing.T) {
	if *built == "" {
		t.Skip("make sbom gives the folder")
	}
	for _, p := range Programs {
		binary := filepath.Join(*built, p.Name)
		bill, err := os.ReadFile(binary + ".cdx.json")
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("proof: %s: %d parts in its bill of materials, all that go version -m names", p.Name, holds(t, bill, binary))
	}
}

// holds fails when a bill is not valid CycloneDX or does not name what the go command sees in a
// program.
func holds(t *testing.T, bill []byte, binary string) (parts int) {
	t.Helper()
	if err := schema(t).Validate(decoded(t, bill)); err != nil {
		t.Errorf("not CycloneDX 1.6: %v", err)
	}
	var read struct {
		Components []struct{ Name, Version, Purl string }
	}
	if err := json.Unmarshal(bill, &read); err != nil {
		t.Fatal(err)
	}
	listed := map[string]string{}
	for _, c := range read.Components {
		if strings.HasPrefix(c.Purl, "pkg:golang/") && c.Name != Standard {
			listed[c.Name] = c.Version
		}
	}
	inside := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^\tdep\t(\S+)\t(\S+)\th1:`).FindAllStringSubmatch(run(t, "go", "version", "-m", binary), -1) {
		inside[m[1]] = m[2]
	}
	if len(inside) < 2 {
		t.Fatalf("go version names only %v", inside)
	}
	if diff := cmp.Diff(inside, listed); diff != "" {
		t.Errorf("in the program (-) and in its bill (+):\n%s", diff)
	}
	return len(read.Components)
}

// schema is CycloneDX's own, which comes with its library.
func schema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	dir := filepath.Join(strings.TrimSpace(run(t, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/CycloneDX/cyclonedx-go")), "schema")
	compiler := jsonschema.NewCompiler()
	for name, file := range map[string]string{
		"http://cyclonedx.org/schema/bom-1.6.schema.json": "bom-1.6.schema.json", "http://cyclonedx.org/schema/spdx.schema.json": "spdx.schema.json",
		"http://cyclonedx.org/schema/jsf-0.82.schema.json": "jsf-0.82.schemax.json",
	} {
		text, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		if err := compiler.AddResource(name, decoded(t, text)); err != nil {
			t.Fatal(err)
		}
	}
	compiled, err := compiler.Compile("http://cyclonedx.org/schema/bom-1.6.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return compiled
}

func decoded(t *testing.T, text []byte) any {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return value
}

func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, stderr.Bytes())
	}
	return string(out)
}
