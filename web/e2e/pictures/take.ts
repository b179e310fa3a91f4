// Takes the pictures of the README from the running program: npm run pictures, or make pictures.

import { mkdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Page } from 'playwright-core';
import { button, dock, log, task } from '../harness/chat.ts';
import { Server } from '../harness/server.ts';
import { painted } from '../harness/shot.ts';
import { closeBrowser, Visit } from '../harness/visit.ts';

const pictures = resolve(import.meta.dirname, '../../../docs/pictures');

let person: Visit | undefined;
const server = await Server.start({
  script: readFileSync(join(import.meta.dirname, 'story.yaml'), 'utf8'),
  settings: { 'sandbox.allow_root': 'true' },
  config: {
    'retinue.yaml': `permissions: {ask: [edit_file, shell], allow: [write_file]}
models:
  demo/strong: {input_usd: 5, output_usd: 25}
  demo/balanced: {input_usd: 3, output_usd: 15}
  demo/fast: {input_usd: 1, output_usd: 5}
`,
  },
  files: {
    'go.mod': 'module example.com/shop\n\ngo 1.24\n',
    'api/limit.go': `package api

import (
	"sync"
	"time"
)

// Limiter bounds how many requests each key sends.
type Limiter struct {
	mu      sync.Mutex
	rate    float64
	burst   float64
	buckets map[string]*bucket
}

type bucket struct {
	tokens float64
	filled time.Time
}

// NewLimiter allows so many requests a second, and so many at once.
func NewLimiter(rate, burst float64) *Limiter {
	return &Limiter{rate: rate, burst: burst, buckets: map[string]*bucket{}}
}

// Allow says whether a key may send another request.
func (l *Limiter) Allow(key string) bool {
	return true
}

func (l *Limiter) bucket(key string, now time.Time) *bucket {
	b := l.buckets[key]
	if b == nil {
		b = &bucket{tokens: l.burst, filled: now}
		l.buckets[key] = b
	}
	b.tokens = min(l.burst, b.tokens+now.Sub(b.filled).Seconds()*l.rate)
	b.filled = now
	return b
}
`,
    'api/server.go':
      'package api\n\n// Key is who sends a request.\nfunc Key(header string) string { return header }\n',
    'notes/counting.md': 'A token bucket allows bursts. A sliding window does not.\n',
    'notes/refusals.md': '429 Too Many Requests, with Retry-After.\n',
  },
});

try {
  mkdirSync(pictures, { recursive: true });
  for (const earlier of [
    'Explain the billing state machine',
    'Compare three queue libraries',
    'Rewrite the onboarding mails',
  ]) {
    await server.settled(await server.open(earlier));
  }
  const { id } = await server.api<{ id: string }>('/v1/conversations', {
    message: 'Give the public API a rate limit per key, with tests and a note for clients.',
    title: 'Rate limit for the public API',
    max_cost_micro_usd: 5_000_000,
  });
  person = await Visit.begin(server, { height: 1000, scale: 1.5 });
  const page = await person.tab(`/c/${id}`);

  // A change waits, and a question behind it.
  await dock(page).getByText('Coder wants to').waitFor();
  await dock(page).getByText('1 of 2').waitFor();
  await take(page, 'dock', 'light');

  // The coder has a tester, which wants to run something; others go on beside them.
  await button(dock(page), /^Allow once/).click();
  await task(page, 'Tester: Test the limiter: bursts, and keys apart from each other.')
    .getByText('Needs approval')
    .waitFor();
  await dock(page).getByText('1 of 2').waitFor();
  await take(page, 'chat', 'dark');

  await dock(page)
    .getByRole('radio', { name: /Leave it alone/ })
    .check({ force: true });
  await button(dock(page), /^Answer/).click();
  await dock(page).getByText('Tester wants to').waitFor();
  await button(dock(page), /^Allow once/).click();
  // The tests are real: Go builds its library first where it has not yet.
  await log(page)
    .getByText('The public API has a limit per key now.')
    .waitFor({ timeout: 180_000 });
  await page.goto(`${server.url}/c/${id}/timeline`);
  await page.getByText('Waiting for sub-agents', { exact: true }).waitFor();
  await take(page, 'timeline', 'dark');
  await page.goto(`${server.url}/c/${id}/cost`);
  await page.getByRole('heading', { name: 'By agent' }).waitFor();
  await take(page, 'cost', 'light');
  await person.end();
} catch (error) {
  await person?.picture('pictures');
  throw error;
} finally {
  await closeBrowser();
  await server.stop();
}

async function take(page: Page, name: string, colorScheme: 'dark' | 'light'): Promise<void> {
  await page.emulateMedia({ colorScheme });
  await painted(page);
  await page.screenshot({ path: join(pictures, `${name}.png`), caret: 'hide' });
}
