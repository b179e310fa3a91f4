import { cleanup, fireEvent, screen } from '@testing-library/react';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ARM } from './arm';
import { forgetPage } from './draft';
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
} from './fixture';

beforeEach(begin);
afterEach(tidy);

const dock = () => screen.getByRole('region', { name: /Waiting for you/ });
const button = (name: RegExp) => screen.getByRole('button', { name });
const picked = () => screen.getAllByRole('radio').map((r) => (r as HTMLInputElement).checked);

async function shown(more: object = {}) {
  const sent = playServer();
  const id = newConversation();
  spawn(id, 'main/1', 'researcher');
  ask(id, 'q', more);
  await showDock(id);
  return { id, sent };
}

describe('a question', () => {
  it('marks a suggestion and picks nothing', async () => {
    await shown({ options: ['Cloud KMS (recommended)', 'Mounted secret'] });
    expect(dock().textContent).toContain('Cloud KMSThe agent’s guess');
    expect(picked()).toEqual([false, false]);
    await settle(ARM);
    expect(button(/^Answer/).getAttribute('aria-disabled')).toBe('true');
  });

  it('is answered with the words of the option, as they were asked', async () => {
    const { id, sent } = await shown({ options: ['Cloud KMS (recommended)', 'Mounted secret'] });
    await settle(ARM);
    fireEvent.keyDown(dock(), { key: '1' });
    await settle(20);
    expect(picked()).toEqual([true, false]);
    fireEvent.keyDown(dock(), { key: 'Enter', metaKey: true });
    await settle(20);
    expect(sent).toEqual([
      {
        path: `/v1/conversations/${id}/messages`,
        body: { text: 'Cloud KMS (recommended)', in_reply_to: 'q' },
      },
    ]);
    expect(screen.queryByRole('region', { name: /Waiting for you/ })).toBeNull();
  });

  it('takes other words, whose letters are no keys', async () => {
    const { sent } = await shown();
    await settle(ARM);
    const own = screen.getByLabelText('Your own answer');
    fireEvent.change(own, { target: { value: 'neither 1 nor 2' } });
    for (const key of ['1', '2', 'a', 'd']) fireEvent.keyDown(own, { key });
    fireEvent.keyDown(own, { key: 'Enter' });
    fireEvent.keyDown(own, { key: 'Enter', ctrlKey: true });
    await settle(20);
    expect(picked()).toEqual([false, false]);
    expect(sent).toEqual([]);
    fireEvent.click(button(/^Answer/));
    await settle(20);
    expect(sent.map((s) => s.body.text)).toEqual(['neither 1 nor 2']);
  });

  it('can be left to the orchestrator', async () => {
    const { sent } = await shown();
    fireEvent.click(button(/Let the orchestrator decide/));
    await settle(ARM);
    expect(sent).toEqual([]);
    fireEvent.click(button(/Let the orchestrator decide/));
    await settle(20);
    expect(sent.map((s) => s.body)).toEqual([
      { text: 'I leave this to you.', in_reply_to: 'q', decline: true },
    ]);
  });

  it('keeps what was written when the card goes and when the page is loaded anew', async () => {
    const { id } = await shown();
    fireEvent.change(screen.getByLabelText('Your own answer'), { target: { value: 'half a th' } });
    cleanup();
    await showDock(id);
    expect((screen.getByLabelText('Your own answer') as HTMLTextAreaElement).value).toBe(
      'half a th',
    );
    cleanup();
    forgetPage();
    await showDock(id);
    expect((screen.getByLabelText('Your own answer') as HTMLTextAreaElement).value).toBe(
      'half a th',
    );
  });

  it('says who answered it elsewhere, and what', async () => {
    const { id } = await shown();
    const parts = [{ kind: 'text', text: 'Tea' }];
    const said = {
      id: 'm9',
      seq: 1,
      number: 9,
      at: '',
      agent: '',
      by: 'Ana',
      speaker: 'user',
      parts,
    };
    emit(id, 'message.received', said);
    emit(id, 'question.answered', { question: 'q', by: 'user', text: 'Tea', number: 9 });
    await settle();
    expect(dock().textContent).toMatch(/Answered by Ana, .*“Tea”/);
    expect(screen.queryByRole('button', { name: /^Answer/ })).toBeNull();
  });

  it.each([
    ['while it goes on', 'agent.resumed', { status: 'running' }],
    ['when it is done', 'agent.completed', { status: 'completed' }],
  ])('says that nobody answered its agent in time, %s', async (_, type, data) => {
    const { id } = await shown();
    emit(id, 'question.answered', { question: 'q' });
    emit(id, type, data);
    await settle();
    expect(dock().textContent).toMatch(/Expired, .*Nobody answered in time/);
  });

  it('says so too when that ended the task', async () => {
    const { id } = await shown({ until: new Date(0).toISOString() });
    emit(id, 'question.answered', { question: 'q' });
    emit(id, 'agent.failed', { status: 'failed' });
    await settle();
    expect(dock().textContent).toMatch(/Expired, .*Nobody answered in time/);
  });

  it('is withdrawn with the task that asked it', async () => {
    const { id } = await shown();
    emit(id, 'question.answered', { question: 'q' });
    emit(id, 'agent.cancelled', { status: 'cancelled' });
    await settle();
    expect(dock().textContent).toMatch(/Withdrawn, .*The task was stopped/);
  });

  it('tells a person whose answer came after another', async () => {
    const { id } = await shown();
    await settle(ARM);
    fireEvent.keyDown(dock(), { key: '2' });
    fireEvent.keyDown(dock(), { key: 'Enter', ctrlKey: true });
    await settle(20);
    const { Toasts } = await import('../../ui/toast');
    const { render } = await import('@testing-library/react');
    const { TooltipProvider } = await import('../../ui/tooltip');
    render(
      <TooltipProvider>
        <Toasts />
      </TooltipProvider>,
    );
    emit(id, 'note.added', { note: 'already_answered', question: 'q', number: 1 });
    await settle();
    expect(document.body.textContent).toContain('The question had been answered before');
  });
});
