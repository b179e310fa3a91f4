import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import { anchor, cheapest, frameCost, openingCost, scroll, within } from './harness/budget.ts';
import { log, task } from './harness/chat.ts';
import { stage } from './harness/scenario.ts';
import { painted, shot } from './harness/shot.ts';
import { until } from './harness/until.ts';

const writer = resolve(import.meta.dirname, '../../bin/past.test');

// Conversations that have been: e2e/past writes them, as long before this moment as they say.
const now = new Date();
const scenario = stage({
  prepare: async (data) => {
    mkdirSync(data, { recursive: true, mode: 0o700 });
    const written = ['-data', data, '-now', now.toISOString()];
    await promisify(execFile)(writer, ['-test.run', 'TestWrite', ...written]);
  },
  script: `
name: past
default: {text: 'It is still well.'}
`,
});

scenario('a conversation of last week: its day, its agents, its night', async ({ visit }) => {
  const person = await visit();
  const page = await person.tab('/c/past-week');
  await log(page).getByText('It was well all week.').waitFor();
  const day = new Date(now.getTime() - 7 * 86_400_000).getUTCDate();
  await log(page)
    .getByText(new RegExp(`^${day} \\w+ \\d{4}`))
    .waitFor();
  await task(page, 'Coder: Look at part 1.').getByText('Done', { exact: true }).waitFor();
  await shot(page, 'week');
  await page.getByRole('link', { name: 'Timeline' }).click();
  await page.getByRole('treegrid').getByText('Coder').first().waitFor();
  await shot(page, 'week-timeline');
});

for (const { name, title, path, end, unfold } of [
  {
    name: '1,000 agents',
    title: /A thousand agents/,
    path: 'past-many',
    end: 'All parts are well.',
    unfold: /^Show \d+ more/,
  },
  {
    name: '100,000 messages',
    title: /A hundred thousand messages/,
    path: 'past-long',
    end: /^Answer 49999,/,
  },
]) {
  scenario(`${name}: opened and read within the budgets`, async ({ visit }) => {
    const person = await visit();
    const opening = await cheapest(1_500, async () => {
      const page = await person.tab('/new');
      return openingCost(page, title, log(page).getByText(end));
    });
    within(`opening ${name}`, opening, 1_500);
    const page = person.context.pages().at(-1) as Page;
    assert.match(page.url(), new RegExp(path));
    assert.equal(await log(page).getByText('Sent', { exact: true }).count(), 0);
    if (unfold) {
      await log(page).getByRole('button', { name: unfold }).click();
      await until('all of them are there', async () => (await heightOf(page)) > 30_000);
      await scroll(page, 2, 100_000);
    }
    within(`a frame of scrolling ${name}`, await frameCost(page, 5), 5);
  });
}

scenario('older messages come in above the reader, who is not moved', async ({ visit }) => {
  const page = await (await visit()).tab('/new');
  // Pages are held back until it is known what the reader sees.
  let pass: (() => void) | undefined;
  await page.route(/\/messages\?.*before=/, async (route) => {
    await new Promise<void>((resolve) => {
      pass = resolve;
    });
    await route.continue();
  });
  await page.getByRole('link', { name: /A hundred thousand messages/ }).click();
  await log(page)
    .getByText(/^Answer 49999,/)
    .waitFor();
  let drift = 0;
  const seen = new Set<number>();
  for (let pages = 0; pages < 5; pages++) {
    await until('the reader is near the beginning of what is there', async () => {
      for (const each of await numbers(page)) seen.add(each);
      await scroll(page, 1, -400);
      return pass !== undefined;
    });
    await painted(page);
    const before = await anchor(page);
    const height = await heightOf(page);
    pass?.();
    pass = undefined;
    await until('older ones are there', async () => (await heightOf(page)) > height);
    await painted(page);
    const after = await anchor(page, before.key);
    drift = Math.max(drift, Math.abs(after.at - before.at));
  }
  within('drift of the row that is read when older ones come', drift, 0, 'px');
  const all = [...seen].sort((a, b) => a - b);
  const first = all[0] ?? 0;
  assert.ok(first < 49_850, `the oldest that was read is ${first}`);
  assert.equal(all.length, 50_000 - first, 'answers are missing in between');
});

const heightOf = (page: Page): Promise<number> => log(page).evaluate((box) => box.scrollHeight);

/** The numbers of the answers that are on the page. */
const numbers = async (page: Page): Promise<number[]> =>
  [...((await log(page).textContent()) ?? '').matchAll(/Answer (\d+),/g)].map((found) =>
    Number(found[1]),
  );
