import assert from 'node:assert/strict';
import { inspector, log } from './harness/chat.ts';
import { stage } from './harness/scenario.ts';
import { shot } from './harness/shot.ts';
import { until } from './harness/until.ts';

const scenario = stage({
  files: { 'canary.txt': 'The canary is well.' },
  script: `
name: screens
rules:
  - {name: read, when: {turn: 0, text: 'read'}, reply: {calls: [{tool: read_file, args: {path: canary.txt}}]}}
default: {text: 'It is **well**.'}
`,
});

scenario('a mistyped address says so, and leads on', { gate: 'not found' }, async ({ visit }) => {
  const page = await (await visit()).tab('/roles/main/runs');
  await page.getByRole('heading', { name: 'There is no such page' }).waitFor();
  await shot(page, 'not-found');
  await page.getByRole('link', { name: 'Start a conversation' }).click();
  await page.getByLabel('Describe the outcome you want').waitFor();
});

scenario(
  'the first page leads to the conversation that was written to last',
  { gate: 'home' },
  async ({ server, visit }) => {
    await server.settled(await server.open('An older one'));
    const id = await server.open('The last one');
    await server.settled(id);
    const page = await (await visit()).tab('/');
    await page.waitForURL(new RegExp(`/c/${id}`));
    await log(page).getByText('The last one').waitFor();
  },
);

scenario('words of a conversation are found', { gate: 'find' }, async ({ server, visit }) => {
  const id = await server.open('Where is the canary?');
  await server.settled(id);
  const page = await (await visit()).tab(`/c/${id}`);
  await log(page).getByText('It is well.').waitFor();
  await page.keyboard.press('Control+f');
  await page.getByLabel('Find in this conversation').fill('canary');
  await page.getByText('1 found', { exact: true }).waitFor();
  await shot(page, 'find');
  await page.keyboard.press('Enter');
  await page.getByText('1 of 1', { exact: true }).first().waitFor();
  await page.waitForURL(/#m-\d+$/);
});

scenario(
  'one call of a model and one of a tool, as they were sent and came back',
  { gate: 'call' },
  async ({ server, visit }) => {
    const id = await server.open('Please read it');
    await server.settled(id);
    const page = await (await visit()).tab(`/c/${id}?agent=main&tab=calls`);
    await inspector(page)
      .getByRole('link', { name: /^Open model call/ })
      .first()
      .click();
    await page.getByRole('heading', { name: /^Model call / }).waitFor();
    await page.getByText('System prompt, as it was sent').waitFor();
    await shot(page, 'call-model');
    await page.goto(`${server.url}/c/${id}?agent=main`);
    const row = inspector(page).getByRole('button', { name: /read/i }).first();
    await row.click();
    await inspector(page).getByRole('link', { name: 'Open this call' }).click();
    await page.getByRole('heading', { name: /^read_file, call / }).waitFor();
    await page.getByText('The canary is well.').first().waitFor();
  },
);

scenario('a role that talks to people has runs', { gate: 'role' }, async ({ server, visit }) => {
  await server.settled(await server.open('Hello'));
  const page = await (await visit()).tab('/roles/main');
  await page
    .getByRole('main')
    .getByText(/^Runs$/)
    .waitFor();
  assert.equal(await page.getByText(/No runs/).count(), 0);
});

scenario('each part of the settings', { gate: 'settings part' }, async ({ server, visit }) => {
  const page = await (await visit()).tab('/settings/limits');
  const nav = page.getByRole('navigation', { name: 'Settings' });
  const parts = await until('the parts of the settings are listed', async () => {
    const names = await nav.getByRole('link').allInnerTexts();
    return names.length >= 6 && names;
  });
  for (const name of parts) {
    await nav.getByRole('link', { name, exact: true }).click();
    await nav.locator('[aria-current=page]').filter({ hasText: name }).waitFor();
    await page.locator('main [data-loading]').waitFor({ state: 'detached' });
    assert.equal(await page.getByText(/no such part/).count(), 0, name);
  }
  await page.goto(`${server.url}/settings/limits`);
  await page.getByText(/or with --set/).waitFor();
});
