import { act, cleanup, fireEvent, screen } from '@testing-library/react';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ARM } from './arm';
import {
  begin,
  emit,
  newConversation,
  playServer,
  type Sent,
  settle,
  showDock,
  spawn,
  tidy,
  want,
} from './fixture';
import { SHOWN } from './subject';

beforeEach(begin);
afterEach(tidy);

const dock = () => screen.getByRole('region', { name: /Waiting for you/ });
const button = (name: RegExp) => screen.getByRole('button', { name });

async function shown(more: object = {}, answer?: (sent: Sent) => Response | undefined) {
  const sent = playServer(answer);
  const id = newConversation();
  spawn(id, 'main', 'main');
  spawn(id, 'main/1', 'coder', 'main');
  want(id, 'one', more);
  await showDock(id);
  return { id, sent };
}

describe('an approval', () => {
  it('says who wants what, where, and what it does', async () => {
    await shown({
      show: { command: 'go vet ./...', cwd: 'cmd', description: 'Check the build', timeout: 30 },
      until: '2030-01-01T00:00:00Z',
    });
    const text = dock().textContent ?? '';
    expect(text).toContain('Coder wants to run a shell command');
    expect(text).toContain('Orchestrator › Coder');
    expect(text).toContain('Coder says: Check the build');
    expect(text).toContain('$ go vet ./...');
    expect(text).toContain('in cmd');
    expect(text).toContain('Runs a program');
    expect(text).toMatch(/timeout number30/);
    expect(text).toMatch(/Expires /);
    expect(text).toMatch(/waiting/);
  });

  it('says what the agent has read when that is why it is asked, and offers no always then', async () => {
    await shown({
      pattern: undefined,
      sources: [
        { kind: 'file', name: 'vendor/a.txt' },
        { kind: 'mcp', name: 'tracker' },
        { kind: 'web', name: 'example.com' },
        { kind: 'agent', name: 'main/2' },
        { kind: 'more' },
      ],
    });
    expect(dock().textContent).toContain(
      'Asked because this agent has read vendor/a.txt, the MCP server tracker, example.com, ' +
        'what agent main/2 has read, others. Rules do not apply.',
    );
    expect(screen.queryByRole('button', { name: /Always/ })).toBeNull();
  });

  it('says nothing of sources when there are none', async () => {
    await shown();
    expect(dock().textContent).not.toContain('Asked because');
  });

  it('cannot be decided before it has been there for half a second', async () => {
    const { sent } = await shown();
    await settle(ARM - 200);
    fireEvent.click(button(/Allow once/));
    fireEvent.click(button(/Always for this task/));
    fireEvent.keyDown(dock(), { key: 'a' });
    fireEvent.keyDown(dock(), { key: 's' });
    await settle(20);
    expect(sent).toEqual([]);
    await settle(300);
    fireEvent.click(button(/Allow once/));
    await settle(20);
    expect(sent).toHaveLength(1);
  });

  it('arms anew when it changes and when the window comes to the front', async () => {
    const { id, sent } = await shown();
    await settle(ARM);
    want(id, 'one', { hash: 'other', show: { command: 'rm -rf /' } });
    await settle(60);
    expect(dock().textContent).toContain('This changed while it was shown');
    fireEvent.click(button(/Allow once/));
    await settle(ARM);
    fireEvent(window, new window.Event('focus'));
    await settle(20);
    fireEvent.click(button(/Allow once/));
    await settle(20);
    expect(sent).toEqual([]);
    await settle(ARM);
    fireEvent.click(button(/Allow once/));
    await settle(20);
    expect(sent.map((s) => s.body)).toEqual([{ allow: true, scope: 'once', hash: 'other' }]);
  });

  it('is decided once, with the hash of what was shown', async () => {
    const { id, sent } = await shown();
    await settle(ARM);
    const always = button(/Always for this task/);
    // Two presses before the page has drawn what the first one does.
    act(() => {
      always.click();
      always.click();
    });
    fireEvent.click(button(/Sending|Allow once/));
    fireEvent.keyDown(dock(), { key: 'a' });
    await settle(20);
    expect(sent).toEqual([
      {
        path: `/v1/conversations/${id}/approvals/one/decision`,
        body: { allow: true, scope: 'task', hash: 'hash of one' },
      },
    ]);
  });

  it('prints what always covers and its end, and has no always without a pattern', async () => {
    await shown({ pattern: 'go vet *\ngo test *' });
    expect(dock().textContent).toMatch(
      /“Always” covers go vet \* and go test \*: for this task until it ends, for this conversation until you archive it/,
    );
    cleanup();
    const { sent } = await shown({ pattern: undefined });
    await settle(ARM);
    expect(dock().textContent).not.toContain('Always');
    fireEvent.keyDown(dock(), { key: 's' });
    await settle(20);
    expect(sent).toEqual([]);
  });

  it('has no always while its content is cut', async () => {
    await shown({ show: { command: `echo ${'x'.repeat(SHOWN)}END` } });
    expect(dock().textContent).not.toContain('Always');
    expect(dock().textContent).not.toContain('END');
    fireEvent.click(button(/Show all of it/));
    expect(dock().textContent).toContain('END');
    expect(dock().textContent).toContain('Always');
  });

  it('can only be denied when it is not known what it would do', async () => {
    const { sent } = await shown({ show: undefined });
    await settle(ARM);
    expect(screen.queryByRole('button', { name: /Allow once/ })).toBeNull();
    fireEvent.keyDown(dock(), { key: 'a' });
    await settle(20);
    expect(sent).toEqual([]);
    expect(button(/Deny/)).toBeTruthy();
  });

  it('is allowed once with other arguments, which keep their types', async () => {
    const { id, sent } = await shown({ tool: 'mcp__a__b', show: { name: 'x', times: 5 } });
    await settle(ARM);
    fireEvent.keyDown(dock(), { key: 'e' });
    await settle(ARM);
    const allow = () => button(/Allow once with these changes/);
    fireEvent.click(allow());
    fireEvent.change(screen.getByLabelText(/times/), { target: { value: 'six' } });
    fireEvent.click(allow());
    await settle(20);
    expect(dock().textContent).toContain('This must be a number');
    expect(sent).toEqual([]);
    fireEvent.change(screen.getByLabelText(/times/), { target: { value: '6' } });
    fireEvent.click(allow());
    await settle(20);
    expect(sent.map((s) => s.body)).toEqual([
      { allow: true, args: { name: 'x', times: 6 }, hash: 'hash of one' },
    ]);
    emit(id, 'approval.decided', { approval: 'one', allow: true, by: 'Me', args: { times: 6 } });
  });

  it('says that it was allowed with changes', async () => {
    const { id } = await shown();
    emit(id, 'approval.decided', { approval: 'one', allow: true, by: 'Ana', args: { a: 1 } });
    await settle(60);
    expect(dock().textContent).toMatch(/Allowed with changes by Ana, \d/);
  });

  it('asks for a note before it denies, which may be empty', async () => {
    const { sent } = await shown();
    await settle(ARM);
    fireEvent.keyDown(dock(), { key: 'd' });
    await settle(20);
    const note = screen.getByLabelText(/Tell the agent what to do instead/);
    expect(document.activeElement).toBe(note);
    expect(sent).toEqual([]);
    fireEvent.change(note, { target: { value: 'use make' } });
    for (const key of ['a', 's', 'd', 'e', '1']) fireEvent.keyDown(note, { key });
    fireEvent.keyDown(note, { key: 'Enter' });
    fireEvent.keyDown(note, { key: 'Enter', ctrlKey: true });
    await settle(ARM);
    expect(sent).toEqual([]);
    fireEvent.click(button(/^Deny/));
    await settle(20);
    expect(sent.map((s) => s.body)).toEqual([
      { allow: false, note: 'use make', hash: 'hash of one' },
    ]);
  });

  it('takes keys only inside the dock, once per press, without modifiers', async () => {
    const { sent } = await shown();
    await settle(ARM);
    fireEvent.keyDown(screen.getByLabelText('Message'), { key: 'a' });
    fireEvent.keyDown(document.body, { key: 'a' });
    fireEvent.keyDown(dock(), { key: 'a', repeat: true });
    fireEvent.keyDown(dock(), { key: 'a', ctrlKey: true });
    fireEvent.keyDown(dock(), { key: 'A', shiftKey: true });
    fireEvent.keyDown(dock(), { key: 'Enter' });
    fireEvent.keyDown(dock(), { key: 'Enter', ctrlKey: true });
    await settle(20);
    expect(sent).toEqual([]);
    fireEvent.keyDown(button(/Deny/), { key: 'a' });
    await settle(20);
    expect(sent).toHaveLength(1);
  });

  it('takes no keys from its menu, which is elsewhere in the page', async () => {
    const { sent } = await shown();
    await settle(ARM);
    // What the menu is made of is loaded when it is asked for.
    await act(() => import('../../ui/menu'));
    fireEvent.keyDown(button(/More ways/), { key: 'ArrowDown' });
    await settle(20);
    const item = screen.getByRole('menuitem', { name: /conversation/ });
    expect(item.textContent).toContain('go vet *');
    fireEvent.keyDown(item, { key: 'a' });
    await settle(20);
    expect(sent).toEqual([]);
    fireEvent.keyDown(item, { key: 'Enter' });
    await settle(20);
    expect(sent.map((s) => s.body.scope)).toEqual(['conversation']);
  });

  it('says what happened when it was decided otherwise before', async () => {
    const { id } = await shown({}, ({ path, body }) => {
      if (path.endsWith('/decision') && 'allow' in body) {
        return Response.json({ title: 'Conflict', status: 409, code: 'conflict' }, { status: 409 });
      }
      return Response.json({ id: 'one', hash: 'hash of one', status: 'denied', by: 'Ben' });
    });
    await settle(ARM);
    fireEvent.click(button(/Allow once/));
    await settle(50);
    expect(dock().textContent).toContain('Your decision came too late');
    expect(dock().textContent).toContain('Denied by Ben');
    emit(id, 'approval.decided', { approval: 'one', allow: false, by: 'Ben', note: 'not now' });
    await settle(50);
    expect(dock().textContent).toMatch(/Denied by Ben, .*“not now”/);
  });

  it('says so when somebody had decided the same before', async () => {
    await shown({}, () =>
      Response.json({ id: 'one', hash: 'hash of one', status: 'decided', allow: true, by: 'Ana' }),
    );
    await settle(ARM);
    fireEvent.click(button(/Allow once/));
    await settle(50);
    expect(dock().textContent).toContain('Allowed by Ana');
  });

  it('keeps the card and says what to do when it cannot be sent', async () => {
    const problem = {
      title: 'Forbidden',
      status: 403,
      code: 'forbidden',
      detail: 'You may only read',
    };
    await shown({}, ({ body }) =>
      'allow' in body
        ? Response.json({ ...problem, next: 'Ask an owner.' }, { status: 403 })
        : undefined,
    );
    await settle(ARM);
    fireEvent.click(button(/Allow once/));
    await settle(50);
    expect(screen.getByRole('alert').textContent).toBe('You may only read. Ask an owner.');
    expect(button(/Allow once/)).toBeTruthy();
  });
});
