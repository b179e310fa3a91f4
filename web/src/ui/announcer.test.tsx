import { act, cleanup, render } from '@testing-library/react';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Announcer, announce, announceOneOf, merged } from './announcer';

const finished = (count: number) => `${count} agents finished`;

beforeEach(() => vi.useFakeTimers());
afterEach(() => {
  act(() => vi.advanceTimersByTime(10_000));
  cleanup();
  vi.useRealTimers();
});

describe('the announcer', () => {
  it('counts what is of a kind and says the same once', () => {
    expect(merged([{ text: 'Coder finished', several: finished }])).toBe('Coder finished');
    const lines = [
      { text: 'Coder finished', several: finished },
      { text: 'Connected again.' },
      { text: 'Tester finished', several: finished },
      { text: 'Connected again.' },
    ];
    expect(merged(lines)).toBe('Connected again. 2 agents finished');
  });

  it('says one line, and the next not before three seconds', () => {
    const { container } = render(<Announcer />);
    const polite = () => container.querySelector('[aria-live=polite]')?.textContent;
    const pass = (ms: number) => act(() => vi.advanceTimersByTime(ms));
    announceOneOf('Coder finished', finished);
    pass(0);
    expect(polite()).toBe('Coder finished');
    announceOneOf('Tester finished', finished);
    announceOneOf('Planner finished', finished);
    pass(2_900);
    expect(polite()).toBe('Coder finished');
    pass(200);
    expect(polite()).toBe('2 agents finished');
  });

  it('does not make a lost connection wait', () => {
    const { container } = render(<Announcer />);
    act(() => announce('Connection lost', 'assertive'));
    expect(container.querySelector('[aria-live=assertive]')?.textContent).toBe('Connection lost');
  });

  it('says the same again so that it is heard', () => {
    const { container } = render(<Announcer />);
    const text = () => container.querySelector('[aria-live=assertive]')?.textContent;
    act(() => announce('Stopped', 'assertive'));
    const before = text();
    act(() => announce('Stopped', 'assertive'));
    expect(text()).not.toBe(before);
    expect(text()?.trim()).toBe('Stopped');
  });
});
