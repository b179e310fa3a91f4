// A reporter for node's test runner: whatever failed, then a table of scenarios with how long each took and how many
// pictures were taken, and a table of figures with their budgets.

import type { TestEvent } from 'node:test/reporters';

/** What a line begins with that says what was measured. */
export const FIGURE = 'figure ';

interface Row {
  name: string;
  seconds: number;
  ok: boolean;
  pictures: number;
}

interface Figure {
  what: string;
  figure: number;
  budget: number;
  unit: string;
  /** How much larger the bound was, since the machine was slower than a quiet one. */
  slower: number;
  /** Whether being over the budget fails the scenario. */
  held: boolean;
}

export default async function* table(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const began = Date.now();
  const rows: Row[] = [];
  const figures: Figure[] = [];
  for await (const event of events) {
    if (event.type === 'test:stderr') yield event.data.message;
    if (event.type === 'test:stdout') {
      for (const line of event.data.message.split('\n').filter((each) => each !== '')) {
        if (line.startsWith(FIGURE)) figures.push(JSON.parse(line.slice(FIGURE.length)));
        else yield `${line}\n`;
      }
    }
    if (event.type === 'test:diagnostic') {
      const [, count, name] = /^pictures (\d+) (.*)$/.exec(event.data.message) ?? [];
      const row = rows.find((each) => each.name === name);
      if (row) row.pictures = Number(count);
    }
    if (event.type !== 'test:pass' && event.type !== 'test:fail') continue;
    const { name, details, file } = event.data;
    // A file of which nothing is played is one test to the runner, with the name of the file.
    if (event.type === 'test:pass' && file !== undefined && file.endsWith(name)) continue;
    const ok = event.type === 'test:pass';
    rows.push({ name, seconds: details.duration_ms / 1000, ok, pictures: 0 });
    yield `${ok ? 'ok    ' : 'FAILED'} ${name}\n`;
    if (event.type === 'test:fail')
      yield `${event.data.details.error.stack ?? event.data.details.error}\n`;
  }
  yield `\n${'scenario'.padEnd(80)} seconds  pictures\n`;
  for (const { name, seconds, ok, pictures } of rows) {
    yield `${name.padEnd(80)} ${seconds.toFixed(1).padStart(7)}  ${String(pictures).padStart(8)}  ${ok ? '' : 'FAILED'}\n`;
  }
  yield `\n${'budget'.padEnd(60)} ${'figure'.padStart(9)} ${'bound'.padStart(9)}\n`;
  for (const { what, figure, budget, unit, slower, held } of figures) {
    const times = slower > 1 ? `  x ${slower.toFixed(2)}: the machine is slower` : '';
    const over = figure <= budget * slower ? '' : held ? '  OVER' : '  over, and not held here';
    yield `${what.padEnd(60)} ${figure.toFixed(1).padStart(9)} ${String(budget).padStart(9)} ${unit}${times}${over}\n`;
  }
  const failed = rows.filter((row) => !row.ok).length;
  const unseen = rows.filter((row) => row.ok && row.pictures === 0).map((row) => row.name);
  for (const name of unseen) yield `\nnobody looked at: ${name}\n`;
  if (rows.length === 0) yield '\nnothing was played\n';
  if (unseen.length > 0 || rows.length === 0) process.exitCode = 1;
  const pictures = rows.reduce((sum, row) => sum + row.pictures, 0);
  const took = ((Date.now() - began) / 1000).toFixed(0);
  yield `\n${rows.length} scenarios, ${failed} failed, ${pictures} pictures, ${took} s\n`;
  // What is copied into docs/proof.md.
  yield `proof: ${rows.length} scenarios, ${failed} failed, ${pictures} pictures\n`;
  for (const { what, figure, budget, unit } of figures) {
    yield `proof: ${what}: ${Number(figure.toFixed(1))} of ${budget} ${unit}\n`;
  }
  yield `${rows.length - failed} passed, ${failed} failed\n`;
}
