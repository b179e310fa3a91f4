import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { button, composer, inspector, log, task } from './harness/chat.ts';
import { stage } from './harness/scenario.ts';
import { loaded } from './harness/shot.ts';
import { shots } from './harness/shots.ts';
import { until } from './harness/until.ts';

// Who is told to wait does so until it is stopped.
const scenario = stage({
  script: `
name: shell
rules:
  - {name: fan out, when: {no_tools: [submit_result], turn: 0, text: 'hold'}, reply: {text: 'Two will look.', calls: [{tool: spawn_agents, args: {tasks: [{role: researcher, task: 'Wait for apples.'}, {role: coder, task: 'Wait for pears.'}]}}]}}
  - {name: wait, when: {text: 'Wait for'}, reply: {delay: 120s, text: 'Never said.'}}
  - {name: limited, when: {attempt: 0, text: 'retry'}, reply: {fault: {name: rate_limited, wait: 2s}}}
default: {text: 'Heard, and **well**.'}
`,
});

const group = (page: Page, name: string) =>
  page
    .getByRole('navigation', { name: 'Conversations' })
    .locator('section')
    .filter({ has: page.getByRole('heading', { name, exact: true }) });

scenario('a page that is opened later shows what runs, and what is stopped', async (on) => {
  const id = await on.server.open('Let them hold');
  await until('both work', async () => {
    const { tasks } = await on.server.snapshot(id);
    return tasks.filter((each) => each.status === 'running').length === 3;
  });
  const page = await (await on.visit()).tab('/inbox');
  await group(page, 'Running')
    .getByRole('link', { name: /hold Running/ })
    .click();
  const header = page.locator('header').first();
  // The request is held back until it is seen that it was made.
  let pass = () => {};
  const seen = new Promise<void>((resolve) => {
    pass = resolve;
  });
  await page.route(/\/cancel$/, (route) => seen.then(() => route.continue()));
  await button(header, 'Stop all agents').click();
  await button(header, 'Stopping…').waitFor();
  pass();
  await on.server.settled(id);
  await button(header, 'Stop all agents').waitFor();
  await group(page, 'Earlier').getByRole('link', { name: /hold/ }).waitFor();
  await on.server.say(id, 'Go on');
  await log(page).getByText('Heard, and well.').waitFor();
  await on.server.settled(id);
  assert.equal(await button(header, 'Stopping…').count(), 0);
});

scenario('an attempt that was refused says why and how long it waited', async (on) => {
  const id = await on.server.open('Please retry');
  await on.server.settled(id);
  const page = await (await on.visit()).tab(`/c/${id}?agent=main&tab=calls`);
  await inspector(page)
    .getByText(/Too many requests for the provider/)
    .waitFor();
  await inspector(page)
    .getByText(/Waited \ds before it was sent/)
    .waitFor();
});

scenario('every key of the map does what it says', async ({ server, visit }) => {
  const id = await server.open('Let them hold');
  const page = await (await visit()).tab(`/c/${id}`);
  await task(page, 'Coder: Wait for pears.').getByText('Running', { exact: true }).waitFor();
  const dialog = (name: string | RegExp) => page.getByRole('dialog', { name });
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox').waitFor();
  await page.keyboard.press('Escape');
  await page.keyboard.press('Control+/');
  await dialog(/shortcuts/i).waitFor();
  await page.keyboard.press('Escape');
  await page.keyboard.press('Control+f');
  await page.getByRole('searchbox').or(page.getByLabel(/Find/)).first().waitFor();
  await page.keyboard.press('Escape');
  await log(page).focus();
  const onHeading = (title: string) =>
    until(`“${title}” has the focus`, () =>
      page.evaluate((text) => {
        const { activeElement: at } = document;
        return at?.tagName === 'H2' && at.textContent?.startsWith(text) === true;
      }, title),
    );
  await page.keyboard.press('j');
  await onHeading('Orchestrator');
  await page.keyboard.press('k');
  await onHeading('You said');
  await button(page, /^Inspect Coder|Open Coder|Coder: Wait for pears/)
    .first()
    .focus();
  await page.keyboard.press('o');
  await inspector(page).waitFor();
  const agent = () => new URL(page.url()).searchParams.get('agent');
  const first = agent();
  await inspector(page).focus();
  await inspector(page).getByText('Wait for pears.').first().waitFor();
  await page.keyboard.press('[');
  await inspector(page).getByText('Wait for apples.').first().waitFor();
  assert.notEqual(agent(), first);
  await page.keyboard.press(']');
  await inspector(page).getByText('Wait for pears.').first().waitFor();
  assert.equal(agent(), first);
  await page.keyboard.press('Alt+ArrowUp');
  await until('the parent is shown', async () => agent() === 'main');
  const seen = new Set<string>();
  for (let turn = 0; turn < 8; turn++) {
    await page.keyboard.press('F6');
    seen.add(
      await page.evaluate(
        () => document.activeElement?.closest<HTMLElement>('[data-region]')?.dataset.region ?? '',
      ),
    );
  }
  for (const region of ['sidebar', 'conversation', 'composer', 'inspector']) {
    assert.ok(seen.has(region), `F6 does not come to ${region}: ${[...seen]}`);
  }
  await composer(page).focus();
  // What is on top is closed first: the inspector.
  await page.keyboard.press('Escape');
  await inspector(page).waitFor({ state: 'detached' });
  await page.keyboard.press('Escape');
  await page.keyboard.press('Escape');
  await server.settled(id);
});

const pages = ['', '/timeline', '/cost', '?agent=main', '?agent=main&tab=calls'];

scenario('320 px, 400 % and less motion: nothing is cut off, nothing moves', async (on) => {
  const id = await on.server.open('Let them hold');
  await until('both work', async () => {
    const { tasks } = await on.server.snapshot(id);
    return tasks.filter((each) => each.status === 'running').length === 3;
  });
  const addresses = [
    ...['/new', '/inbox', '/roles', '/roles/main', '/runs', '/settings'],
    ...pages.map((end) => `/c/${id}${end}`),
  ];
  // A window of 1280 × 1024 at 400 % has as much room as one of 320 × 256.
  for (const height of [640, 256]) {
    const page = await (await on.visit({ width: 320, height })).tab('/new');
    for (const address of addresses) {
      await page.goto(on.server.url + address);
      await loaded(page);
      const found = await page.evaluate(() => {
        const wide: string[] = [];
        const scrolls = (element: Element): boolean => {
          for (let at: Element | null = element; at; at = at.parentElement) {
            const { overflowX } = getComputedStyle(at);
            if (overflowX === 'auto' || overflowX === 'scroll') return true;
          }
          return false;
        };
        const usable = document.querySelectorAll('a, button, input, textarea, select, [tabindex]');
        for (const each of usable) {
          const { left, right, width } = each.getBoundingClientRect();
          if (width === 0 || scrolls(each)) continue;
          if (left < -1 || right > innerWidth + 1) {
            wide.push(each.getAttribute('aria-label') ?? each.textContent ?? each.tagName);
          }
        }
        const running = document.getAnimations().filter((a) => a.playState === 'running').length;
        return { wide, running, width: document.documentElement.scrollWidth };
      });
      await page.screenshot({
        path: `${shots}/narrow-${height}-${address.replaceAll(/\W+/g, '-')}.png`,
      });
      assert.deepEqual(found, { wide: [], running: 0, width: 320 }, `${address} at ${height}`);
    }
    await page.goto(`${on.server.url}/c/${id}?agent=main`);
    const panel = await inspector(page).getByRole('tabpanel').boundingBox();
    assert.ok((panel?.height ?? 0) > 200, `there is no room to read: ${panel?.height} px`);
    await page.goto(`${on.server.url}/c/${id}`);
    await composer(page).fill('Can be written');
    await composer(page).click();
  }
  await on.server.api(`/v1/conversations/${id}/cancel`, {});
});

scenario('forced colours: statuses keep their shapes, bars their colours', async (on) => {
  const id = await on.server.open('Let them hold');
  const person = await on.visit();
  const page = await person.tab(`/c/${id}`);
  await page.emulateMedia({ forcedColors: 'active' });
  await task(page, 'Coder: Wait for pears.').getByText('Running', { exact: true }).waitFor();
  const here = page.getByRole('navigation', { name: 'Conversations' }).locator('[aria-current]');
  assert.equal(await here.evaluate((each) => getComputedStyle(each).outlineStyle), 'solid');
  await page.screenshot({ path: `${shots}/forced-chat.png` });
  await page.goto(`${on.server.url}/c/${id}/timeline`);
  const bar = page.getByRole('treegrid').locator('.role-solid').first();
  await bar.waitFor();
  for (const each of [bar, page.locator('.st-hatch').first(), page.locator('.wait-line').first()]) {
    assert.equal(await each.evaluate((at) => getComputedStyle(at).forcedColorAdjust), 'none');
  }
  await page.screenshot({ path: `${shots}/forced-timeline.png` });
  await on.server.api(`/v1/conversations/${id}/cancel`, {});
});
