// @vitest-environment node
import type { TestEvent } from 'node:test/reporters';
import { afterEach, beforeEach, expect, it } from 'vitest';
import table from './table.ts';

// A reporter says by the exit code that nobody looked at a scenario; here nobody runs any.
let before: typeof process.exitCode;
beforeEach(() => {
  before = process.exitCode;
});
afterEach(() => {
  process.exitCode = before;
});

const ended = (type: 'test:pass' | 'test:fail', name: string, file = '/e2e/a.test.ts') => ({
  type,
  data: { name, file, details: { duration_ms: 1_500, error: new Error('why') } },
});
const pictures = (name: string, count: number) => ({
  type: 'test:diagnostic',
  data: { message: `pictures ${count} ${name}` },
});
const figure = (more: object) => ({
  type: 'test:stdout',
  data: {
    message: `figure ${JSON.stringify({ what: 'a frame', figure: 3.14, budget: 5, unit: 'ms', slower: 1, held: true, ...more })}\n`,
  },
});

async function print(...events: object[]): Promise<string[]> {
  let text = '';
  const all = (async function* () {
    yield* events as TestEvent[];
  })();
  for await (const each of table(all)) text += each;
  return text.trimEnd().split('\n');
}

it('ends with what was proved and how many passed', async () => {
  const lines = await print(
    ended('test:pass', 'one'),
    pictures('one', 4),
    ended('test:fail', 'two'),
    figure({}),
    figure({ what: 'drift', figure: 0, budget: 0, unit: 'px' }),
  );
  expect(lines.slice(-4)).toEqual([
    'proof: 2 scenarios, 1 failed, 4 pictures',
    'proof: a frame: 3.1 of 5 ms',
    'proof: drift: 0 of 0 px',
    '1 passed, 1 failed',
  ]);
});

it('says of a figure that is over its budget whether that counts', async () => {
  const lines = await print(
    figure({ what: 'here', figure: 6 }),
    figure({ what: 'elsewhere', figure: 6, held: false }),
    figure({ what: 'fits' }),
  );
  const line = (what: string) => lines.find((each) => each.startsWith(`${what} `));
  expect(line('here')).toMatch(/OVER$/);
  expect(line('elsewhere')).toMatch(/over, and not held here$/);
  expect(line('fits')).toMatch(/ms$/);
});

it('does not count a file of which nothing is played, and does count what nobody looked at', async () => {
  const lines = await print(
    ended('test:pass', 'e2e/past.test.ts', '/clone/web/e2e/past.test.ts'),
    ended('test:pass', 'one'),
    pictures('one', 4),
  );
  expect(lines.at(-1)).toBe('1 passed, 0 failed');
  expect(process.exitCode).toBe(before);
  const unseen = await print(ended('test:pass', 'one'));
  expect(unseen.join('\n')).toMatch(/nobody looked at: one/);
  expect(process.exitCode).toBe(1);
});

it('fails when nothing was played', async () => {
  const lines = await print(ended('test:pass', 'e2e/past.test.ts', '/clone/web/e2e/past.test.ts'));
  expect(lines).toContain('nothing was played');
  expect(process.exitCode).toBe(1);
});

it('counts a file that could not be read', async () => {
  const lines = await print(ended('test:fail', 'e2e/a.test.ts', '/clone/web/e2e/a.test.ts'));
  expect(lines.at(-1)).toBe('0 passed, 1 failed');
});
