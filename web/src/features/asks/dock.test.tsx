import { act, fireEvent, screen } from '@testing-library/react';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ARM } from './arm';
import {
  ask,
  begin,
  emit,
  newConversation,
  playServer,
  settle,
  showDock,
  spawn,
  tidy,
  want,
} from './fixture';
import { callDock } from './goto';

beforeEach(begin);
afterEach(tidy);

const dock = () => screen.getByRole('region', { name: /Waiting for you/ });
const command = () => dock().querySelector('pre')?.textContent;

async function threeAsks() {
  const sent = playServer();
  const id = newConversation();
  spawn(id, 'main/1', 'coder');
  want(id, 'one');
  want(id, 'two');
  const page = await showDock(id);
  return { id, sent, page };
}

describe('the dock', () => {
  it('shows all asks of the tree, oldest first, and says which one of how many', async () => {
    const { id } = await threeAsks();
    ask(id, 'three');
    await settle();
    expect(command()).toContain('go vet ./one');
    expect(dock().textContent).toContain('1 of 3');
    fireEvent.click(screen.getByRole('button', { name: 'Next request' }));
    await settle();
    expect(command()).toContain('go vet ./two');
    fireEvent.click(screen.getByRole('button', { name: 'Next request' }));
    await settle();
    expect(dock().textContent).toContain('What about three?');
    fireEvent.click(screen.getByRole('button', { name: 'Previous request' }));
    await settle();
    expect(dock().textContent).toContain('2 of 3');
  });

  it('never swaps the card: a new ask, even an older one, changes the counter only', async () => {
    const { id } = await threeAsks();
    const before = dock().querySelector('pre');
    want(id, 'three');
    want(id, 'zero', { at: '2020-01-01T00:00:00Z' });
    await settle();
    expect(dock().querySelector('pre')).toBe(before);
    expect(command()).toContain('go vet ./one');
    expect(dock().textContent).toContain('2 of 4');
  });

  it('turns a card that was answered elsewhere into what happened, and keeps it', async () => {
    const { id } = await threeAsks();
    emit(id, 'approval.decided', { approval: 'one', allow: true, scope: 'once', by: 'Ana' });
    await settle();
    expect(command()).toContain('go vet ./one');
    expect(dock().textContent).toMatch(/Allowed by Ana, \d/);
    expect(screen.queryByRole('button', { name: /Allow once/ })).toBeNull();
    expect(dock().dataset.s).toBe('quiet');
    fireEvent.keyDown(dock(), { key: 'a' });
    fireEvent.click(screen.getByRole('button', { name: 'Close' }));
    await settle();
    expect(command()).toContain('go vet ./two');
  });

  it('says that an ask expired or was cancelled, and why', async () => {
    const { id } = await threeAsks();
    emit(id, 'approval.expired', { approval: 'one', status: 'expired' });
    await settle();
    expect(dock().textContent).toMatch(/Expired, .*Nobody decided in time/);
    fireEvent.click(screen.getByRole('button', { name: 'Close' }));
    await settle();
    emit(id, 'agent.cancelled', { status: 'cancelled', reason: 'user' });
    emit(id, 'approval.resolved', { approval: 'two', status: 'cancelled' });
    await settle();
    expect(dock().textContent).toMatch(/Cancelled, .*The task was stopped/);
  });

  it('never takes the focus when an ask comes', async () => {
    const id = newConversation();
    playServer();
    await showDock(id);
    const field = screen.getByLabelText('Message');
    field.focus();
    spawn(id, 'main/1', 'coder');
    want(id, 'one');
    await settle(ARM + 100);
    expect(dock()).toBeTruthy();
    expect(document.activeElement).toBe(field);
  });

  it('opens what the address names, and control period goes to the dock and on', async () => {
    const id = newConversation();
    playServer();
    spawn(id, 'main/1', 'coder');
    want(id, 'one');
    want(id, 'two');
    await showDock(id, '?ask=two');
    expect(command()).toContain('go vet ./two');
    act(() => void callDock());
    await settle();
    expect(document.activeElement).toBe(dock());
    expect(command()).toContain('go vet ./two');
    act(() => void callDock());
    await settle();
    expect(command()).toContain('go vet ./one');
    expect(document.activeElement).toBe(dock());
  });

  it('goes on to the next ask after a decision, which has to arm anew', async () => {
    const { sent } = await threeAsks();
    await settle(ARM);
    dock().focus();
    fireEvent.keyDown(dock(), { key: 'a' });
    await settle(50);
    expect(command()).toContain('go vet ./two');
    fireEvent.keyDown(dock(), { key: 'a' });
    await settle(50);
    expect(sent.map((s) => s.body.hash)).toEqual(['hash of one']);
    await settle(ARM);
    expect(document.activeElement).toBe(dock());
    fireEvent.keyDown(dock(), { key: 'a' });
    await settle(50);
    expect(sent.map((s) => s.body.hash)).toEqual(['hash of one', 'hash of two']);
    expect(screen.queryByRole('region', { name: /Waiting for you/ })).toBeNull();
  });

  it('keeps the focus when the stream tells of the decision before the answer comes', async () => {
    let answered = (_: Response) => undefined as unknown;
    playServer(({ body }) =>
      'allow' in body ? new Promise((resolve) => (answered = resolve)) : undefined,
    );
    const id = newConversation();
    spawn(id, 'main/1', 'coder');
    want(id, 'one');
    want(id, 'two');
    await showDock(id);
    await settle(ARM);
    const allow = screen.getByRole('button', { name: /Allow once/ });
    allow.focus();
    fireEvent.click(allow);
    emit(id, 'approval.decided', { approval: 'one', allow: true, by: 'Me' });
    await settle();
    answered(Response.json({ by: 'Me', status: 'decided' }));
    await settle(100);
    expect(command()).toContain('go vet ./two');
    expect(document.activeElement).toBe(dock());
  });
});
