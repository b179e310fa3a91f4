import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { composer, log } from './harness/chat.ts';
import { stage } from './harness/scenario.ts';
import { loaded, shot, violations } from './harness/shot.ts';
import { until } from './harness/until.ts';

const scenario = stage({
  script: `
name: access
rules:
  - {name: wait, when: {text: 'wait'}, reply: {delay: 120s, text: 'Never said.'}}
  - name: long
    when: {text: 'long'}
    reply:
      text: |
        # A heading

        A line with \`code_that_is_very_long_and_has_no_place_where_it_could_be_broken_into_two_lines_at_all\`.

        | one | two | three | four | five | six |
        |---|---|---|---|---|---|
        | a long cell | a long cell | a long cell | a long cell | a long cell | a long cell |

        \`\`\`go
        func main() { fmt.Println("a line of code that is a good deal longer than a phone is wide, and then some") }
        \`\`\`
default: {text: 'Heard.'}
`,
});

/** Whether the page must be moved sideways to be read. */
const sideways = (page: Page): Promise<number> =>
  page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);

scenario('320 px wide: nothing is cut off sideways', async ({ server, visit }) => {
  const id = await server.open('Something long');
  await server.settled(id);
  const page = await (await visit({ width: 320, height: 640 })).tab(`/c/${id}`);
  await log(page).getByText('A heading').waitFor();
  for (const path of [
    `/c/${id}`,
    '/new',
    '/inbox',
    '/roles',
    '/settings',
    `/c/${id}/cost`,
    `/c/${id}/timeline`,
  ]) {
    await page.goto(server.url + path);
    if (path === `/c/${id}`) await log(page).getByText('A heading').waitFor();
    await loaded(page);
    assert.equal(await sideways(page), 0, path);
  }
});

scenario('400 % zoom: the composer can be reached and used', async ({ server, visit }) => {
  const id = await server.open('Something long');
  await server.settled(id);
  // 1280 by 1024 at four times the size is what WCAG 1.4.10 asks for.
  const page = await (await visit({ width: 320, height: 256, scale: 4 })).tab(`/c/${id}`);
  await composer(page).fill('Small world');
  await page.keyboard.press('Enter');
  await log(page).getByText('Small world').waitFor();
  assert.equal(await sideways(page), 0);
  assert.deepEqual(await violations(page), []);
});

scenario('reduced motion: nothing moves by itself', async ({ server, visit }) => {
  const id = await server.open('Please wait');
  const page = await (await visit()).tab(`/c/${id}`);
  await until('it is at work', async () =>
    (await server.snapshot(id)).tasks.some((each) => each.status === 'running'),
  );
  await log(page).getByText('Please wait').waitFor();
  const moving = await page.evaluate(() =>
    document
      .getAnimations()
      .filter(
        (each) =>
          each.playState === 'running' &&
          each.effect?.getComputedTiming().iterations === Number.POSITIVE_INFINITY,
      )
      .map((each) => (each as CSSAnimation).animationName),
  );
  assert.deepEqual(moving, []);
  await server.api(`/v1/conversations/${id}/cancel`, {});
});

scenario(
  'the palette finds a conversation and goes there, by keys',
  { gate: 'palette' },
  async ({ server, visit }) => {
    const id = await server.open('Peculiar pelicans');
    const page = await (await visit()).tab('/new');
    await page.getByRole('link', { name: /Peculiar pelicans/ }).waitFor();
    await page.keyboard.press('Control+k');
    await page.getByRole('dialog').getByRole('combobox').waitFor();
    await page.keyboard.type('pelicans');
    await page
      .getByRole('option', { name: /Peculiar pelicans/ })
      .first()
      .waitFor();
    await shot(page, 'palette');
    await page.keyboard.press('Enter');
    await page.waitForURL(new RegExp(`/c/${id}`));
    await page.getByRole('dialog').waitFor({ state: 'hidden' });
  },
);

scenario(
  'the sheet of shortcuts opens and closes by keys',
  { gate: 'shortcuts' },
  async ({ visit }) => {
    const page = await (await visit()).tab('/new');
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.keyboard.press('Control+/');
    await page.getByRole('dialog').waitFor();
    await shot(page, 'shortcuts');
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'hidden' });
  },
);

scenario('F6 goes round the regions of the page', async ({ server, visit }) => {
  const id = await server.open('Hello');
  const page = await (await visit()).tab(`/c/${id}`);
  await log(page).getByText('Heard.').waitFor();
  const seen: string[] = [];
  for (let at = 0; at < 3; at++) {
    await page.keyboard.press('F6');
    seen.push(
      await page.evaluate(
        () =>
          document.activeElement?.closest<HTMLElement>('[data-region]')?.dataset.region ?? 'none',
      ),
    );
  }
  assert.deepEqual([...seen].sort(), ['composer', 'conversation', 'sidebar'], seen.join());
});

scenario('a conversation by keyboard alone', async ({ visit }) => {
  const page = await (await visit()).tab('/new');
  await page.getByRole('heading', { level: 1 }).waitFor();
  await until('the text field has the focus', async () => {
    if (await page.evaluate(() => document.activeElement?.tagName === 'TEXTAREA')) return true;
    await page.keyboard.press('Tab');
    return false;
  });
  await page.keyboard.type('First line');
  await page.keyboard.press('Shift+Enter');
  await page.keyboard.type('second line');
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/c\//);
  await log(page).getByText('Heard.').waitFor();
  await log(page)
    .getByText(/First line\s+second line/)
    .waitFor();
});

scenario(
  'the pages of the installation',
  { gate: ['roles', 'runs', 'settings'] },
  async ({ visit }) => {
    const page = await (await visit()).tab('/roles');
    for (const [path, heading] of [
      ['/roles', 'Roles'],
      ['/runs', 'Runs'],
      ['/settings', 'Settings'],
    ] as const) {
      await page.goto(new URL(path, page.url()).href);
      await page.getByRole('heading', { level: 1, name: heading }).waitFor();
      await shot(page, heading.toLowerCase());
    }
  },
);
