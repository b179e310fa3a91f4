package archtest

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"
)

func TestWebClocks(t *testing.T) {
	found, err := WebClocks(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	fail(t, found)
}

// webSketch is a web app whose tests have the patience they need, and one more file.
func webSketch(name, source string) fstest.MapFS {
	fsys := fstest.MapFS{
		webUntil:                    {Data: []byte("export const PATIENCE = 45_000;\nif (Date.now() > end) throw new Error('in vain');\n")},
		"web/vite.config.ts":        {Data: []byte("test: {\n  testTimeout: 60_000,\n}\n")},
		"web/src/patience.setup.ts": {Data: []byte("configure({ asyncUtilTimeout: 30_000 });\n")},
	}
	if name != "" {
		fsys[name] = &fstest.MapFile{Data: []byte(source)}
	}
	return fsys
}

func webComplaints(t *testing.T, fsys fstest.MapFS) []Violation {
	t.Helper()
	found, err := WebClocks(fsys)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

const webScenario = "web/e2e/a.test.ts"

func TestWebClocksAreFound(t *testing.T) {
	for _, code := range []string{
		"assert.ok(Date.now() - began < 5_000);",
		"const began = Date.now();\nawait go();\nconst spent = Date.now() - began;\nassert.ok(spent <= 200, 'slow');",
		"const began = performance.now();\nassert.ok(\n  performance.now() - began\n    < 16,\n);",
		"expect(performance.now() - before).toBeLessThan(16);",
		"expect(elapsed).toBeLessThanOrEqual(100);",
		"assert.ok(took < 3);",
		"assert(call.duration_ms < 50, `${call.duration_ms}`);",
		"const clock = await threadClock(page);\nconst before = await clock();\nconst cost = (await clock()) - before;\nassert.ok(cost < 8);",
		"const { figure } = await cheapest(400, go);\nassert.ok(figure < 400);",
		"const [rows, spent] = [3, Date.now() - began];\nassert.ok(spent < 9);",
		"const began = Date.now();\nif (Date.now() - began > 10_000) throw new Error('slow');",
		"const end = Date.now() + 5_000;\nwhile (Date.now() < end) await look();",
		"for (const end = Date.now() + 9; Date.now() < end; ) await look();",
		"const first = await frameCost(page, 5);\nconst last = await frameCost(page, 5);\nassert.ok(last < first * 1.5);",
		"await page.getByText('x').waitFor({ timeout: 5_000 });",
		"const SHORT = 10_000;\nawait page.waitForURL(/x/, { timeout: SHORT });",
		"context.setDefaultTimeout(9_000);",
		"test('x', { timeout: 20_000 }, play);",
		"await vi.waitFor(() => expect(x).toBe(1));",
		"await vi.waitFor(\n  () => expect(x).toBe(1),\n  { timeout: 1_000 },\n);",
	} {
		if found := webComplaints(t, webSketch(webScenario, code)); len(found) == 0 {
			t.Errorf("nobody noticed:\n%s", code)
		}
	}
	// A test beside the source is read as well, a harness too.
	for _, name := range []string{"web/src/ui/a.test.tsx", "web/src/ui/a.test.ts", "web/e2e/harness/shot.ts"} {
		if found := webComplaints(t, webSketch(name, "assert.ok(Date.now() - began < 5);")); len(found) != 1 {
			t.Errorf("%s: got %v", name, found)
		}
	}
}

func TestWebClocksAreLeftAlone(t *testing.T) {
	for _, code := range []string{
		"within('a frame', await frameCost(page, 5), 5);",
		"const opening = await cheapest(1_500, go);\nwithin('opening', opening, 1_500);",
		"const off = box.scrollHeight - box.scrollTop;\nassert.ok(off < 5);",
		"await person.context.clock.install({ time: Date.now() + 3_600_000 });",
		"expect(duration(1_500)).toBe('1.5s');",
		"assert.ok(rows.length > 3, 'it took too few');",
		"assert.ok(rows.length > 3); // took < 3",
		"assert.match(text, /took < 3 s/);",
		"const [{ commits: from }, spent] = [await look(), await clock()];\nif (from > 5) return;",
		"const now = new Date(Date.now() - 3_600_000);\nexpect(ago(now)).toBe('1h ago');",
		"const list: Array<string> = all.filter((each) => each.length > 0);",
		"await page.getByText('x').waitFor();",
		"await page.getByText('x').waitFor({ timeout: 2 * PATIENCE });",
		"const LONGEST = 150_000;\ntest('x', { timeout: LONGEST }, play);",
		"await vi.waitFor(() => expect(x).toBe(1), { timeout: 30_000 });",
		"await page.screenshot({ path, timeout: 10_000 }).catch(() => undefined);",
		"show: { command: 'go vet', timeout: 30 },",
		"const took = ((Date.now() - began) / 1000).toFixed(0);\nyield `${took} s`;",
	} {
		fail(t, webComplaints(t, webSketch(webScenario, code)))
	}
	// A clock that a test turns by hand is as fast as it says.
	fail(t, webComplaints(t, webSketch("web/src/api/a.test.ts",
		"vi.useFakeTimers();\nconst back = Date.now() + 9;\nif (Date.now() < back) throw new TypeError('refused');")))
	// Where time is measured, it is compared; what is no test may do what it likes.
	for _, name := range []string{webBudget, "web/src/ui/clock.ts", "web/e2e/node_modules/a.ts"} {
		fail(t, webComplaints(t, webSketch(name, "assert.ok(Date.now() - began < 5);")))
	}
}

func TestWebDeadlinesAreThere(t *testing.T) {
	fail(t, webComplaints(t, webSketch("", "")))
	for name := range webDeadlines {
		fsys := webSketch("", "")
		text := string(fsys[name].Data)
		for _, to := range []string{"5_000", "soon"} {
			short := text
			for _, from := range []string{"45_000", "60_000", "30_000"} {
				short = strings.Replace(short, from, to, 1)
			}
			fsys[name] = &fstest.MapFile{Data: []byte(short)}
			if found := webComplaints(t, fsys); len(found) != 1 {
				t.Errorf("%s with %s: got %v", name, to, found)
			}
		}
		delete(fsys, name)
		if _, err := WebClocks(fsys); err == nil {
			t.Errorf("%s is not there, and nobody noticed", name)
		}
	}
}
