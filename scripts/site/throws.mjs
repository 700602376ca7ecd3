// A plugin of typedoc: what a function throws, which the pages of typedoc-plugin-markdown leave out.
import { Converter } from 'typedoc';

/** @param {import('typedoc').Application} app */
export function load(app) {
  app.converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => {
    for (const { comment } of Object.values(project.reflections)) {
      for (const tag of comment?.blockTags ?? []) name(tag);
    }
  });
}

/** Puts the type in front of what is said about it. A comment that two reflections share is met twice. */
function name(tag) {
  const type = /^\{?(\w+)\}?$/.exec(tag.typeAnnotation ?? '')?.[1];
  if (tag.tag !== '@throws' || type === undefined) return;
  tag.content.unshift({ kind: 'code', text: `\`${type}\`` }, { kind: 'text', text: ' ' });
  delete tag.typeAnnotation;
}
