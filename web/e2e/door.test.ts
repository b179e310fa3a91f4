import assert from 'node:assert/strict';
import { once } from './harness/chat.ts';
import { stage } from './harness/scenario.ts';
import { shot } from './harness/shot.ts';

// A server without logins says so by 404 when it is asked for its login page.
const refused = [/status of 401/, /status of 404 .*\/login$/];

const scenario = stage({
  script: `
name: door
pace: 5ms
default: {text: 'The canary is **well**.'}
`,
});

scenario(
  'who brings no token is asked for one, and comes in with it',
  { gate: 'door' },
  async ({ server, visit }) => {
    const person = await visit({ token: '' });
    person.expected.push(...refused);
    const page = await person.tab('/new');
    await page.getByRole('heading', { name: 'Who are you?' }).waitFor();
    await shot(page, 'door');
    await page.getByLabel('Token').fill('rtl_WRONG');
    await page.getByRole('button', { name: 'Come in' }).click();
    await page.getByText('The server does not know this token.').waitFor();
    await page.getByLabel('Token').fill(server.token);
    await page.getByRole('button', { name: 'Come in' }).click();
    await page.getByLabel('Describe the outcome you want').waitFor();
  },
);

scenario('a wrong token in the address does not get in, and is forgotten', async ({ visit }) => {
  const person = await visit({ token: 'rtl_WRONG' });
  person.expected.push(...refused);
  const page = await person.tab('/inbox');
  await page.getByRole('heading', { name: 'Who are you?' }).waitFor();
  assert.equal(await page.evaluate(() => localStorage.getItem('retinue.token')), null);
  assert.doesNotMatch(page.url(), /token/);
});

scenario('the token leaves the address, and the next tab needs none', async ({ visit }) => {
  const person = await visit();
  const page = await person.tab('/new');
  await page.getByLabel('Describe the outcome you want').waitFor();
  assert.doesNotMatch(page.url(), /token/);
  const other = await person.tab('/roles');
  await other.getByRole('heading', { level: 1, name: 'Roles' }).waitFor();
});

scenario(
  'a first message opens a conversation, and its answer is shown',
  { gate: ['new', 'chat'] },
  async ({ visit }) => {
    const person = await visit();
    const page = await person.tab('/new');
    await page.getByLabel('Describe the outcome you want').fill('How is the canary?');
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/c\/[^/]+$/);
    await page.getByRole('log').getByText('The canary is well.').waitFor();
    await once(page.getByRole('log').getByText('How is the canary?'));
    await shot(page, 'chat-short');
  },
);
