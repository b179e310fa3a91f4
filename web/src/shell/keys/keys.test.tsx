import { cleanup, render } from '@testing-library/react';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { chordOf, isPlain, spoken, written } from './chord';
import { type ActionId, actionIds, actions, objection } from './map';
import { chordFor, remap, rereadKeys, resetKeys } from './own';
import { cycleRegion, regions } from './regions';
import { type Handler, useKeyboard, useKeys } from './registry';

const pressed = (key: string, more: object = {}) => ({
  key,
  ctrlKey: false,
  metaKey: false,
  altKey: false,
  shiftKey: false,
  ...more,
});

function Page({ does }: { does: Partial<Record<ActionId, Handler>> }) {
  useKeyboard();
  useKeys(does);
  return (
    <>
      <section data-region="dock">
        <button type="button">Allow once</button>
        <textarea aria-label="Note" />
      </section>
      <section data-region="conversation">
        <a href="/x">turn</a>
      </section>
    </>
  );
}

function press(where: Element, key: string, more: KeyboardEventInit = {}): KeyboardEvent {
  const event = new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true, ...more });
  where.dispatchEvent(event);
  return event;
}

beforeEach(() => resetKeys());
afterEach(cleanup);

describe('a chord', () => {
  it('is the same for Control and Command, and for a sign with or without Shift', () => {
    expect(chordOf(pressed('k', { ctrlKey: true }))).toBe('mod+k');
    expect(chordOf(pressed('K', { metaKey: true, shiftKey: true }))).toBe('mod+shift+k');
    expect(chordOf(pressed('/', { ctrlKey: true, shiftKey: true }))).toBe('mod+/');
    expect(chordOf(pressed('F6', { shiftKey: true }))).toBe('shift+f6');
    const altGr = { ctrlKey: true, altKey: true, getModifierState: () => true };
    expect(chordOf(pressed('[', altGr))).toBe('[');
    expect(chordOf(pressed('Shift', { shiftKey: true }))).toBeUndefined();
  });
  it('is plain when it could be text', () => {
    expect(['a', 'shift+a', 'space', '[', 'enter'].map(isPlain)).not.toContain(false);
    expect(['mod+a', 'alt+arrowup', 'f6', 'shift+f6', 'escape'].map(isPlain)).not.toContain(true);
  });
  it('is written as on the keyboard', () => {
    expect(written('mod+k', true)).toEqual(['⌘', 'K']);
    expect(written('alt+arrowup', false)).toEqual(['Alt', '↑']);
    expect(spoken('mod+.', false)).toBe('Control Period');
  });
});

describe('the map', () => {
  it('gives no chord twice where both could hold, and no letter everywhere', () => {
    for (const id of actionIds) {
      if (actions[id].fixed) continue;
      expect(
        objection(id, actions[id].chord, (each) => actions[each].chord, isPlain),
        id,
      ).toBeUndefined();
    }
  });
  it('refuses what the browser, another action or a question needs', () => {
    expect(objection('palette.open', 'mod+w', chordFor, isPlain)).toMatch(/browser/);
    expect(objection('ask.allow', 'd', chordFor, isPlain)).toMatch(/Deny/);
    expect(objection('ask.allow', 'j', chordFor, isPlain)).toBeUndefined();
    expect(objection('ask.allow', 'mod+k', chordFor, isPlain)).toMatch(/Search/);
    expect(objection('palette.open', 'p', chordFor, isPlain)).toMatch(/everywhere/);
    expect(objection('ask.allow', '3', chordFor, isPlain)).toMatch(/Numbers/);
  });
  it('keeps what a person chose, and nothing that does not belong there', () => {
    remap('palette.open', 'mod+p');
    remap('message.send', 'x');
    rereadKeys();
    expect([chordFor('palette.open'), chordFor('message.send')]).toEqual(['mod+p', 'enter']);
    localStorage.setItem('retinue.keys', '{"palette.open":7,"nothing":"x"');
    rereadKeys();
    expect(chordFor('palette.open')).toBe('mod+k');
  });
});

describe('keys', () => {
  it('hold in their region only, and never in a text field', () => {
    const allow = vi.fn();
    const { getByText, getByLabelText } = render(<Page does={{ 'ask.allow': allow }} />);
    press(getByText('turn'), 'a');
    press(document.body, 'a');
    press(getByLabelText('Note'), 'a');
    press(getByText('Allow once'), 'a', { repeat: true });
    expect(allow).not.toHaveBeenCalled();
    expect(press(getByText('Allow once'), 'a').defaultPrevented).toBe(true);
    expect(allow).toHaveBeenCalledTimes(1);
  });
  it('hold everywhere if they are for everywhere, but not over a modal window', () => {
    const open = vi.fn();
    const { getByLabelText } = render(<Page does={{ 'palette.open': open }} />);
    press(getByLabelText('Note'), 'k', { ctrlKey: true });
    expect(open).toHaveBeenCalledTimes(1);
    const dialog = document.body.appendChild(document.createElement('dialog'));
    dialog.setAttribute('open', '');
    press(document.body, 'k', { ctrlKey: true });
    dialog.remove();
    expect(open).toHaveBeenCalledTimes(1);
  });
  it('follow a person who changes them, and go with the component', () => {
    const open = vi.fn();
    const { unmount } = render(<Page does={{ 'palette.open': open }} />);
    remap('palette.open', 'mod+p');
    press(document.body, 'k', { ctrlKey: true });
    expect(open).not.toHaveBeenCalled();
    press(document.body, 'p', { ctrlKey: true });
    expect(open).toHaveBeenCalledTimes(1);
    unmount();
    press(document.body, 'p', { ctrlKey: true });
    expect(open).toHaveBeenCalledTimes(1);
  });
  it('leave the key to the page when the action did nothing', () => {
    render(<Page does={{ 'region.next': () => false }} />);
    expect(press(document.body, 'F6').defaultPrevented).toBe(false);
  });
});

describe('F6', () => {
  it('goes round the parts in the order of the page', () => {
    Element.prototype.getClientRects = () => [{}] as unknown as DOMRectList;
    const { getByText, getByLabelText } = render(<Page does={{}} />);
    expect(regions().map((part) => part.dataset.region)).toEqual(['conversation', 'dock']);
    cycleRegion(1);
    expect(document.activeElement).toBe(getByText('turn'));
    cycleRegion(1);
    expect(document.activeElement).toBe(getByLabelText('Note'));
    cycleRegion(1);
    expect(document.activeElement).toBe(getByText('turn'));
    cycleRegion(-1);
    expect(document.activeElement).toBe(getByLabelText('Note'));
  });
});
