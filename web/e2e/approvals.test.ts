import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { button, composer, dock, log } from './harness/chat.ts';
import { stage } from './harness/scenario.ts';
import type { Server } from './harness/server.ts';
import { shot } from './harness/shot.ts';
import { PATIENCE, until } from './harness/until.ts';

const scenario = stage({
  config: {
    'retinue.yaml': 'permissions: {ask: [write_file]}\n',
    'agents/hasty.md':
      '---\ndescription: Waits for nobody.\ntools: [write_file]\napproval_time: 30s\n---\nHurry.\n',
  },
  script: `
name: approvals
rules:
  - {name: write, when: {no_tools: [submit_result], results: false, text: 'write (?P<file>\\S+)$'}, reply: {text: 'I will write it down.', calls: [{tool: write_file, args: {path: '\${file}', content: 'canary'}}]}}
  - {name: write more, when: {no_tools: [submit_result], turn: 0, text: 'twice (?P<file>\\S+)$'}, reply: {calls: [{tool: write_file, args: {path: '\${file}', content: 'first'}}]}}
  - {name: write again, when: {no_tools: [submit_result], turn: 1, text: 'twice (?P<file>\\S+)$'}, reply: {calls: [{tool: write_file, args: {path: '\${file}', content: 'second'}}]}}
  - {name: both, when: {no_tools: [submit_result], turn: 0, text: 'both'}, reply: {calls: [{tool: spawn_agents, args: {tasks: [{role: coder, task: 'Write one.txt'}, {role: coder, task: 'Write two.txt'}]}}]}}
  - {name: hurry, when: {no_tools: [submit_result], text: 'hurry$', results: false}, reply: {calls: [{tool: spawn_agents, args: {tasks: [{role: hasty, task: 'Write late.txt'}]}}]}}
  - {name: hidden, when: {no_tools: [submit_result], turn: 0, text: 'hidden'}, reply: {calls: [{tool: write_file, args: {path: hidden.txt, content: "pay\\u202Egpj.exe\\u200B"}}]}}
  - {name: child writes, when: {turn: 0, text: 'Write (?P<file>\\S+)$'}, reply: {calls: [{tool: write_file, args: {path: '\${file}', content: 'canary'}}]}}
  - {name: child reports, when: {turn: 1, tools: [submit_result]}, reply: {calls: [{tool: submit_result, args: {summary: 'Told: \${result}'}}]}}
  - {name: denied, when: {no_tools: [submit_result], result: 'reason: (?P<why>[^\\n]+)'}, reply: {text: 'Not done, because: \${why}'}}
default: {text: 'That is all.'}
`,
});

const written = (server: Server, name: string): boolean => existsSync(join(server.workspace, name));

scenario(
  'allow once: nothing happens before, the file is there after',
  { gate: 'approval' },
  async ({ server, visit }) => {
    const id = await server.open('Please write once.txt');
    const page = await (await visit()).tab(`/c/${id}`);
    await dock(page)
      .getByText(/Orchestrator wants to/)
      .waitFor();
    await dock(page).getByText('once.txt').first().waitFor();
    await shot(page, 'approval');
    assert.ok(!written(server, 'once.txt'));
    await button(dock(page), /^Allow once/).click();
    await log(page).getByText('That is all.').waitFor();
    await dock(page).waitFor({ state: 'hidden' });
    assert.ok(written(server, 'once.txt'));
  },
);

scenario(
  'deny with a note: nothing is written, and the agent reads why',
  async ({ server, visit }) => {
    const id = await server.open('Please write never.txt');
    const page = await (await visit()).tab(`/c/${id}`);
    await button(dock(page), /^Deny/).click();
    const note = dock(page).getByLabel(/Tell the agent what to do instead/);
    await note.fill('the folder is read only');
    await shot(page, 'approval-deny');
    await button(dock(page), /^Deny/).click();
    await log(page).getByText('Not done, because: the folder is read only').waitFor();
    assert.ok(!written(server, 'never.txt'));
  },
);

scenario(
  'approve with edits: what the person wrote is written, and the agent is told',
  async ({ server, visit }) => {
    const id = await server.open('Please write edited.txt');
    const person = await visit();
    person.expected.push(/status of 422/);
    const page = await person.tab(`/c/${id}`);
    await button(dock(page), /^Edit/).click();
    const allow = button(dock(page), /^Allow once with these changes/);
    const armed = allow.and(page.locator('[aria-disabled=false]'));
    // What does not fit the tool is not taken, and the card stays.
    await dock(page).getByLabel(/^path/).fill('../outside.txt');
    await armed.click();
    await dock(page)
      .getByText(/outside the workspace.*Change them, or go back/)
      .waitFor();
    assert.equal((await server.snapshot(id)).approvals[0]?.status, 'open');
    await dock(page).getByLabel(/^path/).fill('edited.txt');
    assert.equal(
      await dock(page)
        .getByText(/outside the workspace/)
        .count(),
      0,
    );
    await dock(page)
      .getByLabel(/^content/)
      .fill('by hand');
    await shot(page, 'approval-edit');
    await armed.click();
    await log(page).getByText('That is all.').waitFor();
    assert.equal(readFileSync(join(server.workspace, 'edited.txt'), 'utf8'), 'by hand');
    const [approval] = (await server.snapshot(id)).approvals;
    assert.equal(approval?.status, 'approved');
    assert.equal(approval?.edited, true);
    const told = JSON.stringify(await server.api(`/v1/conversations/${id}/agents/main/messages`));
    assert.match(told, /The user changed the arguments of this call/);
    assert.match(told, /canary/, 'what the model wrote is still there');
    assert.match(told, /by hand/);
  },
);

scenario('edited elsewhere: the card says so', async ({ server, visit }) => {
  const id = await server.open('Please write changed.txt');
  const page = await (await visit()).tab(`/c/${id}`);
  await dock(page).waitFor();
  const [approval] = (await server.snapshot(id)).approvals;
  assert.ok(approval);
  const place = `/v1/conversations/${id}/approvals/${encodeURIComponent(approval.id)}/decision`;
  const args = { path: 'changed.txt', content: 'elsewhere' };
  await server.api(place, { allow: true, hash: approval.hash, args });
  await dock(page)
    .getByText(/^Allowed with changes by/)
    .waitFor();
  await until('it is written', () => written(server, 'changed.txt'));
  assert.equal(readFileSync(join(server.workspace, 'changed.txt'), 'utf8'), 'elsewhere');
});

scenario(
  'always for this task: the same file is written again unasked',
  async ({ server, visit }) => {
    const id = await server.open('Please twice both.txt');
    const page = await (await visit()).tab(`/c/${id}`);
    await dock(page)
      .getByText(/“Always” covers/)
      .waitFor();
    await button(dock(page), /^Always for this task/).click();
    await log(page).getByText('That is all.').waitFor();
    assert.equal(readFileSync(join(server.workspace, 'both.txt'), 'utf8'), 'second');
  },
);

scenario('by keys alone: to the dock and allowed', async ({ server, visit }) => {
  const id = await server.open('Please write keys.txt');
  const page = await (await visit()).tab(`/c/${id}`);
  await dock(page).waitFor();
  await composer(page).focus();
  await page.keyboard.press('a');
  assert.equal(await composer(page).inputValue(), 'a', 'a letter in the composer is a letter');
  await page.keyboard.press('Control+.');
  await until('the dock has the focus', () =>
    dock(page).evaluate((element) => element.contains(document.activeElement)),
  );
  await button(dock(page), /^Allow once/)
    .and(page.locator('[aria-disabled=false]'))
    .waitFor();
  await page.keyboard.press('a');
  await log(page).getByText('That is all.').waitFor();
  assert.ok(written(server, 'keys.txt'));
});

scenario('a card that has just come cannot be decided by accident', async ({ server, visit }) => {
  const id = await server.open('Say nothing');
  await server.settled(id);
  const page = await (await visit()).tab(`/c/${id}`);
  await log(page).getByText('That is all.').waitFor();
  // A click that was on its way to something else when the card came.
  await page.evaluate(() => {
    const watch = new MutationObserver(() => {
      const found = [...document.querySelectorAll('button')].find((each) =>
        each.textContent?.startsWith('Allow once'),
      );
      if (!found) return;
      watch.disconnect();
      found.click();
      document.body.dataset.clicked = 'yes';
    });
    watch.observe(document.body, { childList: true, subtree: true });
  });
  await composer(page).fill('Please write early.txt');
  await page.keyboard.press('Enter');
  await page.locator('body[data-clicked=yes]').waitFor();
  assert.ok(
    await composer(page).evaluate((element) => element === document.activeElement),
    'the card took the focus',
  );
  const armed = button(dock(page), /^Allow once/).and(page.locator('[aria-disabled=false]'));
  await armed.waitFor();
  const open = (await server.snapshot(id)).approvals.filter((each) => each.status === 'open');
  assert.equal(open.length, 1, 'it was decided by accident');
  await armed.click();
  await until('it is written', () => written(server, 'early.txt'));
});

scenario('decided elsewhere: the card says so and by whom', async ({ server, visit }) => {
  const id = await server.open('Please write elsewhere.txt');
  const page = await (await visit()).tab(`/c/${id}`);
  await dock(page).waitFor();
  const [approval] = (await server.snapshot(id)).approvals;
  assert.ok(approval);
  const place = `/v1/conversations/${id}/approvals/${encodeURIComponent(approval.id)}/decision`;
  await server.api(place, { allow: true, scope: 'once', hash: approval.hash });
  await dock(page)
    .getByText(/^Allowed by /)
    .waitFor();
  await shot(page, 'approval-elsewhere');
  await button(dock(page), 'Close').click();
  await dock(page).waitFor({ state: 'hidden' });
});

scenario('two tabs: what one decides is decided in the other', async ({ server, visit }) => {
  const id = await server.open('Please write tabs.txt');
  const person = await visit();
  const one = await person.tab(`/c/${id}`);
  const other = await person.tab(`/c/${id}`);
  await dock(one).waitFor();
  await dock(other).waitFor();
  await one.bringToFront();
  await button(dock(one), /^Allow once/).click();
  await log(other).getByText('That is all.').waitFor();
  assert.equal(await button(other, /^Allow once/).count(), 0);
});

scenario('a tab that comes late sees what waits', { gate: 'inbox' }, async ({ server, visit }) => {
  const id = await server.open('Please write late-tab.txt');
  await until('it waits', async () => (await server.snapshot(id)).approvals.length > 0);
  const person = await visit();
  const inbox = await person.tab('/inbox');
  await inbox.getByRole('heading', { level: 1, name: 'Needs you' }).waitFor();
  await inbox
    .getByText(/Orchestrator/)
    .first()
    .waitFor();
  await shot(inbox, 'inbox');
  const page = await person.tab(`/c/${id}`);
  await dock(page).getByText('late-tab.txt').first().waitFor();
  await server.api(`/v1/conversations/${id}/cancel`, {});
});

scenario('two agents wait: one after the other, in any order', async ({ server, visit }) => {
  const id = await server.open('Let both write');
  const page = await (await visit()).tab(`/c/${id}`);
  await page.getByRole('region', { name: 'Waiting for you, 1 of 2' }).waitFor();
  const first = await dock(page).innerText();
  await button(dock(page), 'Next request').click();
  await page.getByRole('region', { name: 'Waiting for you, 2 of 2' }).waitFor();
  assert.notEqual(await dock(page).innerText(), first);
  await shot(page, 'approvals-two');
  await button(dock(page), /^Allow once/).click();
  await page.getByRole('region', { name: 'Waiting for you, 1 of 1' }).waitFor();
  await button(dock(page), /^Allow once/).click();
  await log(page).getByText('That is all.').waitFor();
  assert.ok(written(server, 'one.txt') && written(server, 'two.txt'));
});

scenario(
  'what nobody decides is denied in the end, and the card says so',
  async ({ server, visit }) => {
    const id = await server.open('Say nothing');
    await server.settled(id);
    const page = await (await visit()).tab(`/c/${id}`);
    await log(page).getByText('That is all.').waitFor();
    await server.say(id, 'Please hurry');
    await dock(page)
      .getByText(/Hasty wants to/)
      .waitFor();
    await dock(page)
      .getByText(/^Expired/)
      .waitFor({ timeout: 2 * PATIENCE });
    assert.ok(!written(server, 'late.txt'));
    await shot(page, 'approval-expired');
    await server.settled(id);
    assert.equal(await button(dock(page), /^Allow/).count(), 0);
  },
);

scenario('hidden characters of what is asked are seen', async ({ server, visit }) => {
  const id = await server.open('Something hidden');
  const page = await (await visit()).tab(`/c/${id}`);
  await dock(page)
    .getByText(/U\+202E/)
    .first()
    .waitFor();
  await dock(page)
    .getByText(/U\+200B/)
    .first()
    .waitFor();
  await shot(page, 'approval-hidden');
  await server.api(`/v1/conversations/${id}/cancel`, {});
  await dock(page)
    .getByText(/cancelled|stopped/i)
    .first()
    .waitFor();
});
