import { fireEvent, render, screen, waitFor } from '@testing-library/react';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { TooltipProvider } from '../../ui/tooltip';
import { complete, mentionAt } from './completion';
import { callInWords } from './doing';
import { draftOf, setDraft, writeInComposer } from './draft';
import { MessageForm } from './form';

beforeEach(() => {
  localStorage.clear();
  setDraft('c', '');
});

describe('the composer', () => {
  const show = (onSend: (text: string) => Promise<void>, onUp?: () => void) => {
    render(
      <TooltipProvider>
        <MessageForm
          label="Message"
          placeholder=""
          draft="c"
          onSend={onSend}
          {...(onUp ? { onUp } : {})}
        />
      </TooltipProvider>,
    );
    return screen.getByLabelText<HTMLTextAreaElement>('Message');
  };
  afterEach(() => {
    document.body.innerHTML = '';
  });

  it('sends by Enter, not by Shift and Enter, and not while a word is composed', async () => {
    const sent = vi.fn(async () => {});
    const field = show(sent);
    fireEvent.change(field, { target: { value: 'Hello' } });
    fireEvent.keyDown(field, { key: 'Enter', shiftKey: true });
    fireEvent.keyDown(field, { key: 'Enter', isComposing: true });
    fireEvent.keyDown(field, { key: 'Enter', keyCode: 229 });
    expect(sent).not.toHaveBeenCalled();
    fireEvent.keyDown(field, { key: 'Enter' });
    await waitFor(() => expect(field.value).toBe(''));
    expect(sent).toHaveBeenCalledTimes(1);
  });

  it('keeps what was not recorded, and sends it again under the same key', async () => {
    const keys: string[] = [];
    const field = show(async (...given: unknown[]) => {
      keys.push(String(given[1]));
      if (keys.length === 1) throw new (await import('../../api/problem')).UnreachableError('cut');
    });
    fireEvent.change(field, { target: { value: 'Hello' } });
    fireEvent.keyDown(field, { key: 'Enter' });
    await waitFor(() => expect(keys).toHaveLength(1));
    expect(field.value).toBe('Hello');
    await waitFor(() => {
      fireEvent.keyDown(field, { key: 'Enter' });
      expect(keys).toHaveLength(2);
    });
    expect(keys[0]).toBe(keys[1]);
    await waitFor(() => expect(draftOf('c')).toBe(''));
  });

  it('keeps what is written while a message is on its way, and is never shut', async () => {
    let done = () => {};
    const field = show(() => new Promise<void>((resolve) => (done = resolve)));
    fireEvent.change(field, { target: { value: 'First' } });
    fireEvent.keyDown(field, { key: 'Enter' });
    expect(field.disabled).toBe(false);
    fireEvent.change(field, { target: { value: 'Second' } });
    done();
    await waitFor(() =>
      expect(screen.getByLabelText('Send').getAttribute('aria-disabled')).toBe('false'),
    );
    expect(field.value).toBe('Second');
  });

  it('edits the last queued message by the arrow only while it is empty', () => {
    const up = vi.fn();
    const field = show(async () => {}, up);
    fireEvent.change(field, { target: { value: 'x' } });
    fireEvent.keyDown(field, { key: 'ArrowUp' });
    expect(up).not.toHaveBeenCalled();
    fireEvent.change(field, { target: { value: '' } });
    fireEvent.keyDown(field, { key: 'ArrowUp' });
    expect(up).toHaveBeenCalledTimes(1);
  });
});

describe('drafts', () => {
  it('are kept by conversation, in the browser', () => {
    setDraft('a', 'one');
    setDraft('b', 'two');
    expect(localStorage.getItem('retinue.draft.a')).toBe('one');
    writeInComposer('b', 'three');
    expect(draftOf('b')).toBe('two\nthree');
    setDraft('a', '');
    expect(localStorage.getItem('retinue.draft.a')).toBeNull();
  });
});

describe('mentions', () => {
  const coder = { kind: 'role', value: 'coder', label: 'Coder', detail: '' } as const;

  it('begin with an @ after a space, and are no addresses', () => {
    expect(mentionAt('ask @co', 7)).toEqual({ start: 4, query: 'co' });
    expect(mentionAt('@', 1)).toEqual({ start: 0, query: '' });
    expect(mentionAt('me@home', 7)).toBeUndefined();
    expect(mentionAt('@coder now', 10)).toBeUndefined();
  });

  it('are completed in the middle of a text', () => {
    const text = 'ask @co about it';
    const [next, caret] = complete(text, { start: 4, query: 'co' }, coder);
    expect(next).toBe('ask @coder about it');
    expect(caret).toBe(11);
  });
});

describe('what an agent does', () => {
  const call = (tool: string, args: object, status: 'running' | 'waiting_approval' = 'running') =>
    callInWords({ tool, args: JSON.stringify(args), status });

  it('is said in words', () => {
    expect(call('read_file', { path: 'a.go' })).toBe('Reading a.go');
    expect(call('shell', { command: 'go  test' }, 'waiting_approval')).toBe('Wants to run go test');
    expect(call('spawn_agents', { tasks: [1, 2] })).toBe('Waiting for 2 agents');
    expect(call('mcp__git__log', {})).toBe('Using git: log');
    expect(callInWords({ tool: 'shell', args: '{', status: 'running' })).toBe('Running');
  });
});
