// Numbers for people. Money comes in millionths of a US dollar, durations in milliseconds.

export function duration(ms: number): string {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))}ms`;
  const seconds = Math.floor(ms / 1000);
  if (seconds < 60) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}m ${String(seconds % 60).padStart(2, '0')}s`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours}h ${String(minutes % 60).padStart(2, '0')}m`;
  return `${Math.floor(hours / 24)}d ${hours % 24}h`;
}

/** Three decimals under a dollar, two above. */
export function money(micro: number): string {
  const dollars = micro / 1e6;
  if (dollars === 0) return '$0';
  if (dollars < 0.0005) return '<$0.001';
  return dollars < 0.995 ? `$${dollars.toFixed(3)}` : `$${dollars.toFixed(2)}`;
}

/** A limit that somebody set: "$5", "$2.50". */
export function limitMoney(micro: number): string {
  const dollars = micro / 1e6;
  return Number.isInteger(dollars) ? `$${dollars}` : money(micro);
}

export function tokens(count: number): string {
  if (count < 1000) return String(count);
  if (count < 1e6) return `${(count / 1000).toFixed(count < 1e4 ? 1 : 0)}k`;
  return `${(count / 1e6).toFixed(2)}M`;
}

/** How long ago, in as few letters as the sidebar has room for. */
export function ago(at: string, now: number): string {
  const seconds = Math.max(0, (now - Date.parse(at)) / 1000);
  if (seconds < 60) return 'now';
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)}h`;
  if (seconds < 6 * 86_400) {
    return new Date(at).toLocaleDateString(undefined, { weekday: 'short' });
  }
  return new Date(at).toLocaleDateString(undefined, { day: 'numeric', month: 'short' });
}

// Made once: making it takes longer than drawing the row that shows it.
const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' });

export const clockTime = (at: string): string => clock.format(new Date(at));

/** One of a thing, or several. */
export const plural = (count: number, one: string, many = `${one}s`): string =>
  `${count} ${count === 1 ? one : many}`;

/** A number of bytes, in the unit that leaves few digits. */
export function bytes(count: number): string {
  const units = ['bytes', 'KB', 'MB', 'GB'];
  let step = 0;
  let left = count;
  while (left >= 1000 && step < units.length - 1) {
    left /= 1000;
    step++;
  }
  return `${step === 0 ? left : left.toPrecision(3)} ${units[step]}`;
}
