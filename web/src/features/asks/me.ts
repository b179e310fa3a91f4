import { useEffect, useState } from 'react';
import { getMe } from '../../api/reads';

let asked: Promise<string | undefined> | undefined;
let known: string | undefined;

/** The name that the server writes down for what this person does. */
export function useMyName(): string | undefined {
  const [name, setName] = useState(known);
  useEffect(() => {
    if (known !== undefined) return;
    let live = true;
    asked ??= getMe().then(
      (me) => me.name,
      () => {
        asked = undefined;
        return undefined;
      },
    );
    void asked.then((answer) => {
      known = answer;
      if (live) setName(answer);
    });
    return () => {
      live = false;
    };
  }, []);
  return name;
}
