type Mend = (text: string) => string;

let mend: Mend | undefined;
let asked = false;

/**
 * A text on its way with what it has begun closed for the moment. Only text on its way needs it, so it is loaded with the
 * first of it; until it is there the text is as it came.
 */
export function mended(text: string): string {
  if (mend) return mend(text);
  if (!asked) void load();
  return text;
}

async function load(): Promise<void> {
  asked = true;
  try {
    mend = (await import('remend')).default;
  } catch {
    asked = false; // The next text asks again.
  }
}
