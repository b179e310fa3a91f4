import assert from 'node:assert/strict';
import { once } from './harness/chat.ts';
import { stage } from './harness/scenario.ts';
import { shot } from './harness/shot.ts';

// A server without logins says so by 404 when it is asked for its login page.
const refused = [/status of 401/, /status of 403 .*\/login\/link$/, /status of 404 .*\/login$/];

const scenario = stage({
  script: `
name: door
pace: 5ms
default: {text: 'The canary is **well**.'}
`,
});

scenario(
  'who brings no link is asked for one, comes in with it, and nobody else does',
  { gate: 'door' },
  async ({ server, visit }) => {
    const person = await visit({ code: '' });
    person.expected.push(...refused);
    const page = await person.tab('/new');
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await shot(page, 'door');
    await page.getByLabel('Link').fill('WRONG');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('This link was used before').waitFor();
    const link = `${server.url}/#code=${await server.link()}`;
    await page.getByLabel('Link').fill(link);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByLabel('Describe the outcome you want').waitFor();
    const another = await visit({ code: link.split('code=')[1] as string });
    another.expected.push(...refused);
    const theirs = await another.tab('/new');
    await theirs.getByRole('heading', { name: 'Sign in' }).waitFor();
  },
);

scenario('a page that is left while its code is exchanged gets in', async ({ visit }) => {
  const person = await visit();
  const page = await person.tab('/new');
  for (let times = 0; times < 5; times++) await page.goto(new URL('/new', page.url()).href);
  await page.getByLabel('Describe the outcome you want').waitFor();
});

scenario('a wrong code in the address does not get in, and is forgotten', async ({ visit }) => {
  const person = await visit({ code: 'WRONG' });
  person.expected.push(...refused);
  const page = await person.tab('/inbox');
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  assert.equal(await page.evaluate(() => localStorage.getItem('retinue.proof')), null);
  assert.doesNotMatch(page.url(), /WRONG/);
});

scenario(
  'the code leaves the address, the next tab needs none, and no script can read the cookie',
  async ({ server, visit }) => {
    const person = await visit();
    const page = await person.tab('/new');
    await page.getByLabel('Describe the outcome you want').waitFor();
    assert.doesNotMatch(page.url(), /code/);
    const other = await person.tab('/roles');
    await other.getByRole('heading', { level: 1, name: 'Roles' }).waitFor();
    const [cookie, ...more] = await person.context.cookies();
    assert.equal(more.length, 0);
    assert.deepEqual([cookie?.httpOnly, cookie?.sameSite], [true, 'Strict']);
    assert.equal(await page.evaluate(() => document.cookie), '');
    // A program that listens on another port of the machine is sent the cookie. It opens nothing without the proof.
    const stolen = await fetch(`${server.url}/v1/me`, {
      headers: { Cookie: `${cookie?.name}=${cookie?.value}`, 'Retinue-Request': '1' },
    });
    assert.equal(stolen.status, 401);
  },
);

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
