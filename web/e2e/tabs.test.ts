import assert from 'node:assert/strict';
import type { Page, Request } from 'playwright-core';
import { log } from './harness/chat.ts';
import { stage } from './harness/scenario.ts';
import { until } from './harness/until.ts';

const scenario = stage({
  script: `
name: tabs
default: {text: 'Heard.'}
`,
});

scenario('ten tabs of one conversation share their connections', async ({ server, visit }) => {
  const id = await server.open('Hello');
  await server.settled(id);
  const person = await visit();
  const open = new Set<Request>();
  person.context.on('request', (request) => {
    const { pathname, searchParams } = new URL(request.url());
    // What was before is read once and has an end; a stream goes on.
    if (pathname.endsWith('/events') && !searchParams.has('after')) open.add(request);
  });
  person.context.on('requestfinished', (request) => open.delete(request));
  person.context.on('requestfailed', (request) => open.delete(request));
  const tabs: Page[] = [];
  for (let at = 0; at < 10; at++) tabs.push(await person.tab(`/c/${id}`));
  for (const tab of tabs) await log(tab).getByText('Heard.').waitFor();
  const streams = () => [...open].map((request) => new URL(request.url()).pathname).sort();
  assert.equal(new Set(streams()).size, streams().length, `a stream is read twice: ${streams()}`);
  assert.ok(streams().length <= 2, `${streams()}`);
  await server.say(id, 'To all of you');
  for (const tab of tabs) await log(tab).getByText('To all of you').waitFor();
});

scenario('the tab that reads for all is closed: another goes on', async ({ server, visit }) => {
  const id = await server.open('Hello');
  await server.settled(id);
  const person = await visit();
  const first = await person.tab(`/c/${id}`);
  await log(first).getByText('Heard.').waitFor();
  const second = await person.tab(`/c/${id}`);
  await log(second).getByText('Heard.').waitFor();
  await first.close();
  await server.say(id, 'After the first has gone');
  await log(second).getByText('After the first has gone').waitFor();
  await until('it is answered', async () => (await log(second).getByText('Heard.').count()) === 2);
});

scenario(
  'more windows than connections: the one looked at last is live',
  async ({ server, visit }) => {
    const person = await visit();
    const windows: { id: string; page: Page }[] = [];
    for (let at = 0; at < 6; at++) {
      const id = await server.open('Hello');
      await server.settled(id);
      const page = await person.tab(`/c/${id}`);
      await log(page).getByText('Heard.').waitFor();
      windows.push({ id, page });
      await server.say(id, 'Are you there?');
      await log(page).getByText('Are you there?').waitFor();
    }
    // What was given up for the others goes on where it was when it is looked at again.
    const { id, page } = windows[0] as { id: string; page: Page };
    await server.say(id, 'And you?');
    await page.evaluate(() => dispatchEvent(new Event('focus')));
    await log(page).getByText('And you?').waitFor();
  },
);

for (const hours of [-1, 1]) {
  scenario(
    `a clock that is ${hours} h off: no time is below zero or an hour long`,
    async ({ server, visit }) => {
      const id = await server.open('Hello');
      const person = await visit();
      await person.context.clock.install({ time: Date.now() + hours * 3_600_000 });
      const page = await person.tab(`/c/${id}`);
      await log(page).getByText('Heard.').waitFor();
      const text = await page.locator('body').innerText();
      assert.doesNotMatch(text, /[-−]\d+\s?(s|m|h)\b/, 'a time is below zero');
      assert.doesNotMatch(text, /\b(59m|1h|60m)\b/, 'a moment takes an hour');
    },
  );
}
