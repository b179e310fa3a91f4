import { Code } from '../../markdown/code';
import { Output } from './output';

/** More than this is shown without colours, a part at a time. */
const MOST = 20_000;

/** A value as it is, laid out. */
export function Json({ value, label = 'json' }: { value: unknown; label?: string }) {
  const text = JSON.stringify(value, null, 2) ?? '';
  if (text.length > MOST) return <Output text={text} label={label} />;
  return <Code code={text} language="json" />;
}

/** A text that may be JSON: laid out if it is, as it came if not. */
export function MaybeJson({
  text,
  label,
  whole,
}: {
  text: string;
  label: string;
  whole?: string | undefined;
}) {
  if (!whole && /^\s*[[{]/.test(text)) {
    try {
      return <Json value={JSON.parse(text)} label={label} />;
    } catch {
      // It only looked like it.
    }
  }
  return <Output text={text} label={label} whole={whole} />;
}
