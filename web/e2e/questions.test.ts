import assert from 'node:assert/strict';
import { button, composer, dock, emptied, log, once } from './harness/chat.ts';
import { stage } from './harness/scenario.ts';
import { shot } from './harness/shot.ts';
import { PATIENCE, until } from './harness/until.ts';

const scenario = stage({
  config: {
    'agents/hasty.md':
      '---\ndescription: Waits for nobody.\ncan_ask: true\nquestion_time: 30s\n---\nHurry.\n',
  },
  script: `
name: questions
rules:
  - {name: known, when: {no_tools: [submit_result], text: '(?s)has stopped to ask a question.*<question id="(?P<q>[^"]+)".*Which bird'}, reply: {calls: [{tool: reply_to_agent, args: {question_id: '\${q}', answer: 'A canary', confidence: 0.95, source: 'Name the bird'}}]}}
  - {name: not known, when: {no_tools: [submit_result], text: 'has stopped to ask a question'}, reply: {calls: [{tool: relay_to_user, args: {message: 'That is yours to say.'}}]}}
  - {name: send one, when: {no_tools: [submit_result], turn: 0, text: 'Paint'}, reply: {calls: [{tool: spawn_agents, args: {tasks: [{role: general, task: 'Colour the canary.'}]}}]}}
  - {name: send one in a hurry, when: {no_tools: [submit_result], results: false, text: 'Hurry on$'}, reply: {calls: [{tool: spawn_agents, args: {tasks: [{role: hasty, task: 'Colour the canary.'}]}}]}}
  - {name: send one to name it, when: {no_tools: [submit_result], turn: 0, text: 'Name the bird'}, reply: {calls: [{tool: spawn_agents, args: {tasks: [{role: general, task: 'Look it up.'}]}}]}}
  - {name: ask what is known, when: {turn: 0, text: 'Look it up'}, reply: {calls: [{tool: ask_user, args: {question: 'Which bird is it?'}}]}}
  - {name: ask, when: {turn: 0, text: 'Colour'}, reply: {calls: [{tool: ask_user, args: {question: 'Which colour should it be?', options: [yellow, green]}}]}}
  - {name: report, when: {turn: 1, tools: [submit_result]}, reply: {delay: 1s, calls: [{tool: submit_result, args: {summary: 'It was told: \${result}'}}]}}
  - {name: not told, when: {no_tools: [submit_result], result: 'Nobody answered in time'}, reply: {text: 'The canary stays as it is.'}}
  - {name: told, when: {no_tools: [submit_result], turn: 1, result: 'It was told: (?P<what>[^"]+)"'}, reply: {text: 'The canary is \${what} now.'}}
default: {text: 'Noted.'}
`,
});

scenario('answered with an option', { gate: 'question' }, async ({ server, visit }) => {
  const id = await server.open('Paint it');
  const page = await (await visit()).tab(`/c/${id}`);
  await dock(page).getByText('Which colour should it be?').waitFor();
  assert.deepEqual(
    await dock(page)
      .getByRole('radio')
      .evaluateAll((all) => all.map((each) => (each as HTMLInputElement).checked)),
    [false, false],
    'an answer is picked that nobody gave',
  );
  await shot(page, 'question');
  await dock(page).getByRole('radio', { name: /green/ }).check({ force: true });
  await button(dock(page), /^Answer/).click();
  await log(page).getByText('The canary is green now.').waitFor();
});

scenario(
  'answered in one’s own words, kept when the page is loaded again',
  async ({ server, visit }) => {
    const id = await server.open('Paint it');
    const page = await (await visit()).tab(`/c/${id}`);
    await dock(page).getByLabel('Your own answer').fill('red with dots');
    await page.reload();
    await dock(page).waitFor();
    assert.equal(await dock(page).getByLabel('Your own answer').inputValue(), 'red with dots');
    await button(dock(page), /^Answer/).click();
    await log(page).getByText('The canary is red with dots now.').waitFor();
  },
);

scenario('answered elsewhere: the card says by whom and what', async ({ server, visit }) => {
  const id = await server.open('Paint it');
  const page = await (await visit()).tab(`/c/${id}`);
  await dock(page).getByText('Which colour should it be?').waitFor();
  const [question] = (await server.snapshot(id)).questions;
  assert.ok(question);
  await server.say(id, 'blue', { in_reply_to: question.id });
  await dock(page)
    .getByText(/Answered by .*“blue”/)
    .waitFor();
  assert.equal(await button(dock(page), /^Answer/).count(), 0);
  await shot(page, 'question-elsewhere');
});

scenario(
  'answered too late: the person is told, and what was said is kept',
  async ({ server, visit }) => {
    const id = await server.open('Paint it');
    const page = await (await visit()).tab(`/c/${id}`);
    await dock(page).getByText('Which colour should it be?').waitFor();
    const [question] = (await server.snapshot(id)).questions;
    assert.ok(question);
    await server.say(id, 'yellow', { in_reply_to: question.id });
    await server.say(id, 'no, green', { in_reply_to: question.id });
    await log(page)
      .getByText(/Another answer to General came first/)
      .waitFor();
    await once(log(page).getByText('no, green'));
  },
);

scenario(
  'not answered in time: the card says so, the agent goes on, and a late answer is told so',
  async ({ server, visit }) => {
    const id = await server.open('Hello');
    await server.settled(id);
    const page = await (await visit()).tab(`/c/${id}`);
    await log(page).getByText('Noted.').waitFor();
    await server.say(id, 'Hurry on');
    await dock(page).getByText('Which colour should it be?').waitFor();
    await dock(page).getByLabel('Your own answer').fill('re');
    const [question] = (await server.snapshot(id)).questions;
    assert.ok(question);
    await dock(page)
      .getByText(/^Expired.*Nobody answered in time/)
      .waitFor({ timeout: 2 * PATIENCE });
    assert.equal(await button(dock(page), /^Answer/).count(), 0);
    await log(page).getByText('The canary stays as it is.').waitFor();
    await server.settled(id);
    await dock(page)
      .getByText(/^Expired.*Nobody answered in time/)
      .waitFor();
    await shot(page, 'question-expired');
    await server.say(id, 'blue after all', { in_reply_to: question.id });
    await log(page).getByText('The question of Hasty ended before your answer came.').waitFor();
    await once(log(page).getByText('blue after all'));
    await button(dock(page), 'Close').click();
    await dock(page).waitFor({ state: 'hidden' });
  },
);

scenario(
  'answered from what is known: nobody is asked, and it is said',
  async ({ server, visit }) => {
    const id = await server.open('Name the bird');
    const page = await (await visit()).tab(`/c/${id}`);
    await log(page).getByText('Answered General from context').waitFor();
    await log(page).getByText('A canary').first().waitFor();
    await log(page).getByText('Which bird is it?').waitFor();
    await server.settled(id);
    assert.equal(await dock(page).count(), 0);
    await button(log(page), 'Correct…').click();
    assert.match(await composer(page).inputValue(), /^Correction for General: .*“A canary”/);
  },
);

scenario('a question does not shut the composer', async ({ server, visit }) => {
  const id = await server.open('Paint it');
  const page = await (await visit()).tab(`/c/${id}`);
  await dock(page).waitFor();
  await composer(page).fill('By the way');
  assert.equal(await composer(page).inputValue(), 'By the way');
  await page.getByRole('button', { name: 'Send', exact: true }).click();
  await emptied(composer(page));
  const said = page.getByText('By the way', { exact: true });
  await said.first().waitFor();
  await until('it is there once', async () => (await said.count()) === 1);
  await server.api(`/v1/conversations/${id}/cancel`, {});
});

scenario('a question of an agent that is stopped is over', async ({ server, visit }) => {
  const id = await server.open('Paint it');
  const page = await (await visit()).tab(`/c/${id}`);
  await dock(page).waitFor();
  await server.api(`/v1/conversations/${id}/cancel`, {});
  await until('nothing can be answered', async () => (await button(page, /^Answer/).count()) === 0);
});
