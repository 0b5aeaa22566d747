// The public declarations of the package, read from its TypeScript sources with the compiler.
//
// Takes an entry point; gives for each export its kind, its signature as it is written, its documentation, and the same for its members.
// What is private or marked @internal is left out.
import ts from 'typescript';

const { SyntaxKind, SymbolFlags } = ts;

/** `Map` from name to `{ name, file, kind, signature, doc, members: [{ name, signatures, doc }] }`, in the order in which they are exported. */
export function readDeclarations(entry, tsconfig) {
  const { config } = ts.readConfigFile(tsconfig, ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, tsconfig.replace(/[^/]*$/, ''));
  const program = ts.createProgram([entry], { ...options, noEmit: true }, hostOf(options));
  const checker = program.getTypeChecker();
  const reader = new Reader(checker);
  const exported = checker.getExportsOfModule(checker.getSymbolAtLocation(program.getSourceFile(entry)));
  return new Map(exported.map((symbol) => [symbol.name, reader.read(symbol.name, resolved(symbol, checker))]));
}

/** Parsed files, which all entry points share: most of them are the compiler's own. */
const parsed = new Map();

function hostOf(options) {
  const host = ts.createCompilerHost({ ...options, noEmit: true });
  const parse = host.getSourceFile;
  host.getSourceFile = (name, ...rest) => {
    if (!parsed.has(name)) parsed.set(name, parse(name, ...rest));
    return parsed.get(name);
  };
  return host;
}

function resolved(symbol, checker) {
  return symbol.flags & SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
}

class Reader {
  constructor(checker) {
    this.checker = checker;
  }

  read(name, symbol) {
    const declaration = symbol.declarations.find((node) => !ts.isFunctionDeclaration(node) || node.body === undefined) ?? symbol.declarations[0];
    const entry = { name, doc: this.docOf(symbol), members: [], file: declaration.getSourceFile().fileName };
    if (ts.isSourceFile(declaration)) return { ...entry, doc: moduleDocOf(declaration), kind: 'const', signature: `const ${name}`, members: this.moduleMembers(symbol) };
    if (ts.isFunctionDeclaration(declaration)) {
      const overloads = symbol.declarations.length > 1 ? symbol.declarations.filter(({ body }) => body === undefined) : symbol.declarations;
      return { ...entry, kind: 'function', signature: overloads.map((node) => `function ${callText(node, name)}`).join('\n') };
    }
    if (ts.isClassDeclaration(declaration)) return { ...entry, kind: 'class', signature: headText(declaration), members: this.classMembers(declaration) };
    if (ts.isInterfaceDeclaration(declaration)) return { ...entry, kind: 'interface', signature: headText(declaration), members: this.members(declaration.members) };
    if (ts.isTypeAliasDeclaration(declaration)) return { ...entry, kind: 'type', signature: aliasText(declaration), members: unionMembers(declaration) };
    // One that is another's twin has that one's members.
    if (ts.isVariableDeclaration(declaration) && declaration.type?.kind === SyntaxKind.TypeQuery) return { ...entry, kind: 'const', signature: `const ${name}` };
    // One of a type with a name has what stands there.
    if (ts.isVariableDeclaration(declaration) && declaration.type?.kind === SyntaxKind.TypeReference) return { ...entry, kind: 'const', signature: `const ${name}: ${declaration.type.getText()}` };
    if (ts.isVariableDeclaration(declaration)) return { ...entry, kind: 'const', signature: `const ${name}`, members: this.objectMembers(declaration, symbol) };
    throw new Error(`${name}: a declaration of a kind that the reference does not know`);
  }

  docOf(symbol) {
    const words = ts.displayPartsToString(symbol.getDocumentationComment(this.checker));
    const tags = symbol.getJsDocTags(this.checker).filter((tag) => tag.name === 'param');
    return [words, ...tags.map((tag) => `\`${tag.text.map(({ text }) => text).join('').replace(/^(\S+)\s+(?:- )?/, '$1`: ')}`)].join('\n\n').trim();
  }

  classMembers({ members }) {
    const isPublic = (node) => !(ts.getCombinedModifierFlags(node) & (ts.ModifierFlags.Private | ts.ModifierFlags.Protected)) && !isInternal(node);
    return this.members(members.filter(isPublic));
  }

  /** Members with their overloads together, of which the implementation is none. */
  members(nodes) {
    const byName = new Map();
    for (const node of nodes) {
      const name = ts.isConstructorDeclaration(node) ? 'constructor' : node.name.getText();
      if (!byName.has(name)) byName.set(name, []);
      byName.get(name).push(node);
    }
    return [...byName].map(([name, all]) => {
      const overloads = all.filter(({ body }) => body === undefined);
      const shown = overloads.length > 0 ? overloads : all;
      const docs = shown.map((node) => this.docOfNode(node)).filter((doc) => doc !== '');
      return { name, signatures: shown.map((node) => unqualified(node, memberText(node, name))), doc: docs.join('\n\n') };
    });
  }

  docOfNode(node) {
    return ts.getJSDocCommentsAndTags(node).map((doc) => ts.getTextOfJSDocComment(doc.comment) ?? '').join('\n\n').trim();
  }

  /** What a module exports that another one exports by a name: functions with their overloads, and the types that these take. */
  moduleMembers(module) {
    return this.checker.getExportsOfModule(module).map((symbol) => {
      const { name, signature, doc } = this.read(symbol.name, resolved(symbol, this.checker));
      const [declaration] = symbol.declarations;
      const text = ts.isFunctionDeclaration(declaration) ? signature.replaceAll(/^function /gm, '') : dedented(declaration.getText().replace(/^export /, '').replaceAll(/\/\*\*[^]*?\*\/\s*/g, ''));
      return { name, signatures: text.startsWith('interface') ? [text] : text.split('\n'), doc };
    });
  }

  objectMembers(declaration, symbol) {
    const type = this.checker.getTypeOfSymbolAtLocation(symbol, declaration);
    return type.getProperties().map((property) => {
      const node = property.valueDeclaration;
      // `mse: mse as typeof mse` stands for the function of that name, which has the documentation. A type that is told is no part of the value.
      const named = ts.isPropertyAssignment(node) && ts.isAsExpression(node.initializer) && ts.isIdentifier(node.initializer.expression) ? node.initializer.expression : null;
      const value = named === null ? property : resolved(this.checker.getSymbolAtLocation(named), this.checker);
      const written = value.valueDeclaration;
      const given = ts.isPropertyAssignment(written) ? written.initializer : written;
      const call = ts.isAsExpression(given) ? given.expression : given;
      const signature = ts.isNewExpression(call) ? `${property.name}: ${call.expression.getText()}` : callText(call, property.name);
      return { name: property.name, signatures: [signature], doc: this.docOf(property) || this.docOf(value) };
    });
  }
}

/** What a module says of itself, in the comment at its beginning. */
function moduleDocOf(file) {
  const [, comment = ''] = /^\/\*\*([^]*?)\*\//.exec(file.text.trimStart()) ?? [];
  return comment.replace(/^\s*\* ?/gm, '').trim();
}

function isInternal(node) {
  return /@internal/.test(ts.getLeadingCommentRanges(node.getSourceFile().text, node.pos)?.map(({ pos, end }) => node.getSourceFile().text.slice(pos, end)).join('') ?? '');
}

/** Text with the indentation of its later lines as if its first had none. */
function dedented(text) {
  const lines = text.split('\n');
  const depths = lines.slice(1).filter((line) => line.trim() !== '').map((line) => /^ */.exec(line)[0].length);
  const depth = Math.min(...depths);
  return lines.map((line, at) => (at === 0 ? line : line.slice(depth))).join('\n');
}

/** A text without the names of modules that its file imports as a whole: they say nothing outside of it. */
function unqualified(node, text) {
  const imports = node.getSourceFile().statements.filter(ts.isImportDeclaration).map(({ importClause }) => importClause?.namedBindings).filter((bindings) => bindings !== undefined && ts.isNamespaceImport(bindings));
  return imports.reduce((shown, { name }) => shown.replace(new RegExp(`\\b${name.text}\\.(?=[A-Z])`, 'g'), ''), text);
}

function callText(node, name) {
  const text = node.getSourceFile().text;
  const generics = node.typeParameters === undefined ? '' : `<${text.slice(node.typeParameters.pos, node.typeParameters.end)}>`;
  const parameters = dedented(text.slice(node.parameters.pos, node.parameters.end));
  const result = node.type === undefined ? '' : `: ${node.type.getText()}`;
  const spread = parameters.startsWith('\n') ? `${parameters.replaceAll('\n', '\n  ')}\n` : parameters;
  return `${name}${generics}(${spread})${result}`;
}

function memberText(node, name) {
  const isStatic = ts.getCombinedModifierFlags(node) & ts.ModifierFlags.Static ? 'static ' : '';
  if (ts.isConstructorDeclaration(node)) return callText(node, 'constructor');
  if (ts.isGetAccessor(node)) return `${isStatic}readonly ${name}: ${dedented(node.type?.getText() ?? '')}`;
  if (ts.isMethodDeclaration(node) || ts.isMethodSignature(node)) return isStatic + callText(node, name);
  return dedented(node.getText().replace(/^(?:declare|override|public)\s+/, '').replace(/;$/, ''));
}

function headText(node) {
  const text = node.getSourceFile().text;
  const end = text.indexOf('{', node.typeParameters?.end ?? node.name.end);
  const start = node.modifiers?.end ?? node.getStart();
  return text.slice(start, end).trim();
}

function aliasText(node) {
  const text = node.getText().replace(/^export\s+/, '').replace(/;$/, '');
  const bare = text.replace(/\/\*\*[^]*?\*\/\s*/g, '');
  return bare.replace(/\n\s*/g, '\n  ');
}

/** The members of a union of texts, each with the comment before it; one comment may stand before several. */
function unionMembers(node) {
  if (!ts.isUnionTypeNode(node.type) || !node.type.types.every((type) => type.kind === SyntaxKind.LiteralType)) return [];
  const members = [];
  for (const [, comment, name] of node.getText().matchAll(/(?:\/\*\*([^]*?)\*\/\s*)?[|=]\s*('[^']+')/g)) {
    const doc = comment?.replace(/^\s*\*/gm, '').trim();
    if (doc === undefined && members.length > 0) members.at(-1).signatures.push(name);
    else members.push({ name: name.slice(1, -1), signatures: [name], doc: doc ?? '' });
  }
  return members.every(({ doc }) => doc === '') ? [] : members;
}

/** What the entry point says of itself. */
export function moduleDoc(text) {
  const comment = /\/\*\*([^]*?)\*\//.exec(text)?.[1] ?? '';
  return comment.replace(/^\s*\* ?/gm, '').replace(/@packageDocumentation/, '').trim();
}
