import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { Page } from 'playwright-core';
import {
  anchor,
  cheapest,
  frameCost,
  openingCost,
  scroll,
  threadClock,
  within,
} from './harness/budget.ts';
import { button, log } from './harness/chat.ts';
import { stage } from './harness/scenario.ts';
import type { Server } from './harness/server.ts';
import { painted } from './harness/shot.ts';
import { until } from './harness/until.ts';

const rows = Array.from({ length: 10_000 }, (_, at) => `Row ${at} has words.`).join('\n\n');
// About 200 pieces a second for six seconds, with everything that Markdown has.
const pieces = 1_200;
const piece = [
  'Rotate ',
  'the ',
  '**family** ',
  'on reuse; ',
  '`store` ',
  'keeps ',
  'it.\n\n',
  '- one\n',
  '- two\n\n',
];
const streamed = Array.from({ length: pieces }, (_, at) => piece[at % piece.length]).join('');
const chunk = Math.round(streamed.length / pieces);

const scenario = stage({
  script: `
name: budget
rules:
  - {name: rows, when: {text: 'rows'}, reply: {chunk: 20000, text: ${JSON.stringify(`${rows}\n\nThe last row.`)}}}
  - {name: stream, when: {text: 'stream'}, reply: {chunk: ${chunk}, pace: 5ms, text: ${JSON.stringify(`${streamed}\n\nThe end of it.`)}}}
default: {text: 'Heard.'}
`,
});

scenario('the entry: scripts and styles that every page needs', async ({ visit }) => {
  const dist = resolve(import.meta.dirname, '../dist');
  const html = readFileSync(join(dist, 'index.html'), 'utf8');
  const size = (name: string) =>
    gzipSync(readFileSync(join(dist, name)), { level: 9 }).length / 1024;
  const all = (what: RegExp) => [...html.matchAll(what)].map((found) => found[1] as string);
  const scripts = all(/(?:src|href)="\/?([^"]+\.js)"/g);
  assert.ok(scripts.length > 0, 'the page has no scripts');
  within(
    'scripts of the entry',
    scripts.map(size).reduce((sum, one) => sum + one, 0),
    200,
    'KB',
  );
  const styles = all(/href="\/?([^"]+\.css)"/g);
  within(
    'styles of the entry',
    styles.map(size).reduce((sum, one) => sum + one, 0),
    15,
    'KB',
  );
  const page = await (await visit()).tab('/new');
  await page.getByLabel('Describe the outcome you want').waitFor();
});

scenario('10,000 rows: mounted, scrolled, jumped', async ({ server, visit }) => {
  const id = await server.open('Many rows');
  await server.settled(id);
  const person = await visit();
  const mounting = await cheapest(400, async () => {
    const page = await person.tab('/new');
    return openingCost(page, /Many rows/, log(page).getByText('The last row.'));
  });
  within('mounting 10,000 rows', mounting, 400);
  const page = person.context.pages().at(-1) as Page;
  const elements = await page.evaluate(() => document.querySelectorAll('*').length);
  within('elements of the page', elements, 1_000, 'elements');
  within('a frame of scrolling', await frameCost(page, 5), 5);
});

/** So many commits are measured for a part, and this is what they cost where fewer were drawn. */
const PART = 60;
const NO_TIME = 1_000;

/** What a commit of each third of a streamed text costs, in a tab and a conversation of its own. */
async function streamCosts(server: Server, page: Page, id: string): Promise<number[]> {
  await log(page).getByText('Heard.').waitFor();
  await log(page).evaluate((box) => {
    const seen = { commits: 0 };
    Object.assign(globalThis, { seen });
    new MutationObserver(() => seen.commits++).observe(box, {
      childList: true,
      subtree: true,
      characterData: true,
    });
  });
  // Looking costs the thread that is measured: it is done seldom, and with little.
  const look = () =>
    log(page).evaluate((box) => ({
      ...(globalThis as unknown as { seen: { commits: number } }).seen,
      ended: box.textContent?.endsWith('The end of it.') ?? false,
    }));
  const lookUntil = (there: (now: Awaited<ReturnType<typeof look>>) => boolean) =>
    until(
      'the text comes',
      async () => {
        const now = await look();
        return there(now) && now;
      },
      250,
    );
  const clock = await threadClock(page);
  await server.say(id, 'Now stream');
  await lookUntil(({ commits }) => commits > 5);
  const costs: number[] = [];
  for (let part = 0; part < 3; part++) {
    const [{ commits: from }, spent] = [await look(), await clock()];
    const { commits } = await lookUntil((now) => now.commits >= from + PART || now.ended);
    const [cost, drawn] = [(await clock()) - spent, commits - from];
    // A browser that had no time to draw says nothing of what drawing costs.
    costs.push(drawn < PART ? NO_TIME : cost / drawn);
  }
  await lookUntil(({ ended }) => ended);
  return costs;
}

scenario('200 pieces of text a second: cheap, flat, and at the end', async ({ server, visit }) => {
  const person = await visit();
  const budget = { commit: 8, dearer: 1.5 };
  const dearer = (costs: number[]) => (costs.at(-1) ?? 0) / (costs[0] ?? 1);
  let best: { costs: number[]; dearest: number } | undefined;
  const { slower } = await cheapest(budget.commit, async () => {
    const id = await server.open('Hello');
    await server.settled(id);
    for (const before of person.context.pages()) await before.close(); // the tab that is measured reads for itself
    const costs = await streamCosts(server, await person.tab(`/c/${id}`), id);
    await server.settled(id);
    // Both budgets are held in one go, or that go does not count.
    const dearest = dearer(costs) <= budget.dearer ? Math.max(...costs) : Number.POSITIVE_INFINITY;
    if (!best || dearest < best.dearest) best = { costs, dearest };
    return dearest;
  });
  const page = person.context.pages().at(-1) as Page;
  const costs = best?.costs ?? [];
  for (const [part, figure] of costs.entries())
    within(`a commit of streamed text, part ${part + 1} of 3`, { figure, slower }, budget.commit);
  within('how much dearer the last part is than the first', dearer(costs), budget.dearer, 'times');
  await painted(page);
  const off = await log(page).evaluate(
    (box) => box.scrollHeight - box.scrollTop - box.clientHeight,
  );
  within('distance from the end while following', off, 1, 'px');
});

scenario('a reader further up is not moved by text that comes', async ({ server, visit }) => {
  const id = await server.open('Many rows');
  await server.settled(id);
  const page = await (await visit()).tab(`/c/${id}`);
  await log(page).getByText('The last row.').waitFor();
  await scroll(page, 10, -250);
  await painted(page);
  const before = await anchor(page);
  await server.say(id, 'Now stream');
  await server.settled(id);
  await button(page, /Jump to latest · \d+ new/).waitFor();
  const after = await anchor(page, before.key);
  within('drift of the row that is read while text comes', Math.abs(after.at - before.at), 0, 'px');
});
