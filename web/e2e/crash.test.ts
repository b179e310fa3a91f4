import assert from 'node:assert/strict';
import { composer, log, once } from './harness/chat.ts';
import { stage } from './harness/scenario.ts';
import { shot } from './harness/shot.ts';
import { until } from './harness/until.ts';

// Numbered words: a word that is missing or doubled is seen. They come slowly at first, so that they are cut in the middle
// however busy the machine is.
const words = Array.from({ length: 120 }, (_, at) => `word-${at}.`).join(' ');

const scenario = stage({
  script: `
name: crash
rules:
  - {name: cut, when: {attempt: 0, text: 'stream'}, reply: {chunk: 9, pace: 400ms, text: '${words}'}}
  - {name: stream, when: {text: 'stream'}, reply: {chunk: 9, pace: 5ms, text: '${words}'}}
default: {text: 'Still here.'}
`,
});

// The browser says that it cannot reach a server that is gone.
const gone =
  /status of 401|status of 404|Failed to load resource|ERR_CONNECTION_REFUSED|ERR_INCOMPLETE|ERR_NETWORK|ERR_EMPTY/;

scenario(
  'kill -9 in the middle of a text: the page goes on when the person has signed in',
  async ({ server, visit }) => {
    const id = await server.open('Hello');
    const person = await visit();
    person.expected.push(gone);
    const page = await person.tab(`/c/${id}`);
    await log(page).getByText('Still here.').waitFor();
    await server.say(id, 'Please stream');
    await log(page)
      .getByText(/word-3\./)
      .waitFor();
    await server.kill();
    assert.doesNotMatch(await log(page).innerText(), /word-119\./, 'all of it was there before');
    await page.getByText('Connection lost.', { exact: true }).waitFor();
    await shot(page, 'connection-lost');
    await composer(page).fill('written while nobody was there');
    await server.up();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await shot(page, 'signed-out');
    await person.signIn();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor({ state: 'hidden' });
    await page.getByText('Connection lost.', { exact: true }).waitFor({ state: 'hidden' });
    await server.settled(id);
    await log(page)
      .getByText(/word-119\./)
      .waitFor();
    const shown = await log(page)
      .getByText(/word-119\./)
      .innerText();
    assert.equal(shown.replaceAll(/\s+/g, ' ').trim(), words, 'words are missing or doubled');
    await once(log(page).getByText('Please stream'));
    assert.equal(await composer(page).inputValue(), 'written while nobody was there');
  },
);

scenario(
  'a message sent while the server is gone is sent once the person has signed in',
  async ({ server, visit }) => {
    const id = await server.open('Hello');
    await server.settled(id);
    const person = await visit();
    person.expected.push(gone);
    const page = await person.tab(`/c/${id}`);
    await log(page).getByText('Still here.').waitFor();
    await server.kill();
    await composer(page).fill('Are you there?');
    await page.keyboard.press('Enter');
    await page.getByText('Connection lost.', { exact: true }).waitFor();
    await server.up();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await person.signIn();
    await until(
      'both are answered',
      async () => (await log(page).getByText('Still here.').count()) === 2,
    );
    await once(log(page).getByText('Are you there?'));
  },
);

scenario('offline and back: what happened meanwhile is there', async ({ server, visit }) => {
  const id = await server.open('Hello');
  await server.settled(id);
  const person = await visit();
  person.expected.push(/Failed to load resource|ERR_INTERNET_DISCONNECTED/);
  const page = await person.tab(`/c/${id}`);
  await log(page).getByText('Still here.').waitFor();
  await person.context.setOffline(true);
  await page.evaluate(() => dispatchEvent(new Event('offline')));
  await server.say(id, 'While you were away');
  await server.settled(id);
  await person.context.setOffline(false);
  await log(page).getByText('While you were away').waitFor();
  await until(
    'the answer is there',
    async () => (await log(page).getByText('Still here.').count()) === 2,
  );
});
