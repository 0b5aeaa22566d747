// A program of a page as a module that a browser runs.
import ts from 'typescript';

/** TypeScript or JavaScript as a module, without types, its lines where they were. */
export function moduleOf(source) {
  const { outputText } = ts.transpileModule(source, { compilerOptions: { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext, verbatimModuleSyntax: true } });
  return outputText;
}
