// A chord is written as its keys with plus signs, in lower case: mod+k, shift+f6, alt+arrowup, a. Mod is Control, or
// Command on a Mac; either is understood everywhere.

type Pressed = Pick<KeyboardEvent, 'key' | 'ctrlKey' | 'metaKey' | 'altKey' | 'shiftKey'> & {
  getModifierState?: (name: 'AltGraph') => boolean;
};

const modifiers = new Set(['Control', 'Shift', 'Alt', 'Meta', 'AltGraph', 'CapsLock', 'Dead']);

/** The chord of a pressed key; nothing while only modifiers are down. */
export function chordOf(event: Pressed): string | undefined {
  const { key } = event;
  if (modifiers.has(key) || key === 'Unidentified' || key === 'Process') return undefined;
  // AltGr is how some keyboards write brackets; it says nothing about what is wanted.
  const written = event.getModifierState?.('AltGraph') ?? false;
  const sign = key.length === 1 && key.toLowerCase() === key.toUpperCase();
  const parts = [
    !written && (event.ctrlKey || event.metaKey) && 'mod',
    !written && event.altKey && 'alt',
    // Whether a sign needs Shift depends on the keyboard, so it does not count.
    event.shiftKey && (!sign || key === ' ') && 'shift',
    key === ' ' ? 'space' : key === '+' ? 'plus' : key.toLowerCase(),
  ];
  return parts.filter(Boolean).join('+');
}

/** Whether it could be text: one sign without a modifier. Such chords hold only while their region has the focus. */
export function isPlain(chord: string): boolean {
  const parts = chord.split('+').filter((part) => part !== 'shift');
  const last = parts.at(-1) ?? '';
  return parts.length === 1 && !/^f\d+$/.test(last) && last !== 'escape';
}

const names: Record<string, string> = {
  alt: 'Alt',
  shift: 'Shift',
  space: 'Space',
  plus: '+',
  enter: 'Enter',
  escape: 'Esc',
  arrowup: '↑',
  arrowdown: '↓',
  arrowleft: '←',
  arrowright: '→',
  backspace: 'Backspace',
  delete: 'Del',
};

/** Whether this is a Mac, whose Command key does what Control does elsewhere. */
export const onMac = (): boolean =>
  /mac|iphone|ipad/i.test(navigator.platform || navigator.userAgent);

/** The keys of a chord as they are printed on a keyboard. */
export function written(chord: string, mac = onMac()): string[] {
  if (chord === '') return [];
  return chord.split('+').map((part) => {
    if (part === 'mod') return mac ? '⌘' : 'Ctrl';
    if (part === 'alt' && mac) return '⌥';
    return names[part] ?? part.charAt(0).toUpperCase() + part.slice(1);
  });
}

/** The same for screen readers: "Control Period". */
export function spoken(chord: string, mac = onMac()): string {
  const words: Record<string, string> = {
    mod: mac ? 'Command' : 'Control',
    '.': 'Period',
    '/': 'Slash',
  };
  return chord
    .split('+')
    .map((part) => words[part] ?? names[part] ?? part.toUpperCase())
    .join(' ');
}
