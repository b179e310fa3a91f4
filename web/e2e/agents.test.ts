import assert from 'node:assert/strict';
import { button, composer, emptied, inspector, log, once, task } from './harness/chat.ts';
import { stage } from './harness/scenario.ts';
import { shot } from './harness/shot.ts';
import { PATIENCE, until } from './harness/until.ts';

// Who is told to wait does so until it is stopped: no scenario depends on how fast the machine is.
const scenario = stage({
  script: `
name: agents
pace: 2ms
rules:
  - {name: steered, when: {no_tools: [submit_result], text: 'Make it green'}, reply: {text: 'Green it is.'}}
  - {name: fan out, when: {no_tools: [submit_result], turn: 0, text: 'finish'}, reply: {text: 'Three will look.', calls: [{tool: spawn_agents, args: {tasks: [{role: researcher, task: 'Read apples.'}, {role: coder, task: 'Write pears.'}, {role: tester, task: 'Test plums.'}]}}]}}
  - {name: fan out slowly, when: {no_tools: [submit_result], turn: 0, text: 'hold'}, reply: {calls: [{tool: spawn_agents, args: {tasks: [{role: researcher, task: 'Wait for apples.'}, {role: coder, task: 'Hand pears on.'}]}}]}}
  - {name: hand down, when: {turn: 0, text: 'Write pears'}, reply: {calls: [{tool: spawn_agents, args: {tasks: [{role: tester, task: 'Try pears.'}]}}]}}
  - {name: hand down slowly, when: {turn: 0, text: 'Hand pears on'}, reply: {calls: [{tool: spawn_agents, args: {tasks: [{role: tester, task: 'Wait for pears.'}]}}]}}
  - {name: wait, when: {text: 'Wait for'}, reply: {delay: 120s, text: 'Never said.'}}
  - {name: stream for long, when: {no_tools: [submit_result], turn: 0, text: 'stream'}, reply: {chunk: 4, pace: 400ms, text: 'one two three four five six seven eight nine ten one two three four five six seven eight nine ten one two three four five six seven eight nine ten one two three four five six seven eight nine ten one two three four five six seven eight nine ten one two three four five six seven eight nine ten one two three four five six seven eight nine ten'}}
  - {name: report, when: {turn: 0, tools: [submit_result]}, reply: {calls: [{tool: submit_result, args: {summary: 'Seen.'}}]}}
  - {name: report on, when: {turn: 1, tools: [submit_result]}, reply: {calls: [{tool: submit_result, args: {summary: 'All of it was seen.'}}]}}
  - {name: answer, when: {no_tools: [submit_result], turn: 1}, reply: {text: 'All three have **reported**.'}}
default: {text: 'Nothing more.'}
`,
});

scenario(
  'three agents and one below them report, and each is shown once',
  async ({ server, visit }) => {
    const id = await server.open('Let them finish');
    const page = await (await visit()).tab(`/c/${id}`);
    await log(page).getByText('All three have reported.').waitFor();
    await log(page).getByText('Delegated 3 tasks in parallel').waitFor();
    for (const name of ['Researcher: Read apples.', 'Coder: Write pears.', 'Tester: Test plums.']) {
      assert.equal(await task(page, name).count(), 1, name);
      await task(page, name).getByText('Done', { exact: true }).waitFor();
    }
    // It is open already if the page saw it at work.
    await expand(task(page, 'Coder: Write pears.'));
    await task(page, 'Tester: Try pears.').waitFor();
    await shot(page, 'fan-out');
  },
);

scenario('agents at work are seen at work', async ({ server, visit }) => {
  const id = await server.open('Let them hold');
  const page = await (await visit()).tab(`/c/${id}`);
  await task(page, 'Researcher: Wait for apples.').getByText('Running', { exact: true }).waitFor();
  await until('the tester below the coder runs', async () =>
    (await server.snapshot(id)).tasks.some(
      (each) => each.role === 'tester' && each.status === 'running',
    ),
  );
  await task(page, 'Coder: Hand pears on.')
    .getByText(/Waiting for 1 agent/)
    .first()
    .waitFor();
  await shot(page, 'agents-at-work');
  await server.api(`/v1/conversations/${id}/cancel`, {});
});

scenario('stop one agent: it ends, and the others go on', async ({ server, visit }) => {
  const id = await server.open('Let them hold');
  const page = await (await visit()).tab(`/c/${id}`);
  const one = task(page, 'Researcher: Wait for apples.');
  await one.getByText('Running', { exact: true }).waitFor();
  await expand(one);
  await button(one, 'Stop').click();
  await one.getByText('Cancelled', { exact: true }).waitFor();
  const after = await server.snapshot(id);
  const coder = after.tasks.find((each) => each.role === 'coder');
  assert.ok(coder && !['cancelled', 'failed', 'completed'].includes(coder.status), coder?.status);
  await server.api(`/v1/conversations/${id}/cancel`, {});
});

scenario('stop an agent with the one below it', async ({ server, visit }) => {
  const id = await server.open('Let them hold');
  const page = await (await visit()).tab(`/c/${id}`);
  const coder = task(page, 'Coder: Hand pears on.');
  await coder
    .getByText(/Waiting for 1 agent/)
    .first()
    .waitFor();
  await expand(coder);
  await button(coder, 'Stop this agent and 1 sub-agent').click();
  await coder.getByText('Cancelled', { exact: true }).waitFor();
  const statusOf = async (role: string) =>
    (await server.snapshot(id)).tasks.find((each) => each.role === role)?.status;
  await until('the tester has stopped', async () => (await statusOf('tester')) === 'cancelled');
  await until('the researcher runs', async () => (await statusOf('researcher')) === 'running');
  await server.api(`/v1/conversations/${id}/cancel`, {});
});

scenario('stop everything with the button', async ({ server, visit }) => {
  const id = await server.open('Let them hold');
  const page = await (await visit()).tab(`/c/${id}`);
  await task(page, 'Researcher: Wait for apples.').getByText('Running', { exact: true }).waitFor();
  await button(page, 'Stop everything').click();
  await log(page)
    .getByText(/^Stopped by /)
    .waitFor();
  for (const each of (await server.settled(id)).tasks.filter((one) => one.agent !== 'main')) {
    assert.equal(each.status, 'cancelled', each.agent);
  }
  await shot(page, 'stopped');
});

scenario('Esc twice stops everything, Esc once does not', async ({ server, visit }) => {
  const id = await server.open('Let them hold');
  const page = await (await visit()).tab(`/c/${id}`);
  await task(page, 'Researcher: Wait for apples.').getByText('Running', { exact: true }).waitFor();
  await composer(page).focus();
  await page.keyboard.press('Escape');
  await page.getByText('Press Esc again to stop everything').waitFor();
  await page.getByText('Press Esc again to stop everything').waitFor({ state: 'hidden' });
  assert.equal(
    (await server.snapshot(id)).tasks.filter((each) => each.status === 'cancelled').length,
    0,
  );
  await page.keyboard.press('Escape');
  await page.keyboard.press('Escape');
  await log(page)
    .getByText(/^Stopped by /)
    .waitFor();
});

scenario(
  'what is said while agents work waits in sight, and is read',
  async ({ server, visit }) => {
    const id = await server.open('Let them hold');
    const page = await (await visit()).tab(`/c/${id}`);
    const one = task(page, 'Researcher: Wait for apples.');
    await one.getByText('Running', { exact: true }).waitFor();
    await composer(page).fill('Make it green');
    await page.keyboard.press('Enter');
    const queue = page.getByRole('list', { name: 'Queued messages' });
    await queue.getByText('Make it green').waitFor();
    // The queue is told by the stream and the composer by the answer: either may come first.
    await emptied(composer(page));
    await shot(page, 'steering');
    for (const each of (await server.snapshot(id)).tasks) {
      if (each.agent === 'main') continue;
      await server.api(`/v1/conversations/${id}/cancel`, { task: each.id }).catch(() => undefined);
    }
    await log(page).getByText('Green it is.').waitFor();
    await queue.waitFor({ state: 'hidden' });
    await once(log(page).getByText('Make it green'));
  },
);

scenario('text is shown while it comes', async ({ server, visit }) => {
  const id = await server.open('Please stream');
  const page = await (await visit()).tab(`/c/${id}`);
  await log(page)
    .getByText(/one two three/)
    .waitFor();
  assert.equal(
    (await server.snapshot(id)).tasks[0]?.status,
    'running',
    'it was shown at its end only',
  );
  await log(page)
    .getByText(/(nine ten.*){7}/)
    .waitFor({ timeout: 2 * PATIENCE });
});

scenario(
  'a link to a sub-agent opens it beside the chat',
  { gate: 'inspector' },
  async ({ server, visit }) => {
    const id = await server.open('Let them finish');
    const coder = await until('there is a coder', async () =>
      (await server.snapshot(id)).tasks.find((each) => each.role === 'coder'),
    );
    const page = await (await visit()).tab(`/c/${id}?agent=${encodeURIComponent(coder.agent)}`);
    await inspector(page).getByText('Coder').first().waitFor();
    await log(page).getByText('All three have reported.').waitFor();
    await shot(page, 'agent-link');
  },
);

scenario(
  'the timeline and the cost of a conversation',
  { gate: ['timeline', 'cost'] },
  async ({ server, visit }) => {
    const id = await server.open('Let them finish');
    await server.settled(id);
    const page = await (await visit()).tab(`/c/${id}/timeline`);
    await page.getByRole('treegrid').getByText('Researcher').first().waitFor();
    await shot(page, 'timeline');
    await page.getByRole('link', { name: 'Cost' }).click();
    await page.waitForURL(/\/cost/);
    await page.getByText('Researcher').first().waitFor();
    await shot(page, 'cost');
  },
);

type Row = ReturnType<typeof task>;

async function expand(row: Row): Promise<void> {
  const closed = row.getByRole('button', { name: /^Expand / });
  if (await closed.count()) await closed.first().click();
}
