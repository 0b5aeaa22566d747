// The pages of the API reference, from the package's declarations.
import MarkdownIt from 'markdown-it';
import { highlight } from './highlight.mjs';
import { codeBlock } from './markdown.mjs';

/** The pages, and what stands on them. Every export stands on exactly one. */
const PAGES = [
  {
    name: 'api-problems', title: 'Problems', words: 'Parameters, data, residual functions, losses and manifolds.',
    exports: ['Problem', 'ParameterArray', 'ResidualBlock', 'PlainValues', 'Differences', 'ConstraintBlock', 'ConstraintSpec', 'ConstraintKind', 'loss', 'Loss', 'manifold', 'Manifold', 'ManifoldPart', 'ProductManifold', 'sqrtInformation', 'Grid', 'GridSpec', 'GridSize', 'GridValues', 'GridInterpolation', 'GridBorder', 'ParameterGrid', 'ParameterGridSpec', 'GridPoint', 'pictureGrid', 'PictureData', 'ImageSource', 'Input', 'Block', 'Tuple', 'Output', 'Numbers', 'Indices'],
  },
  {
    name: 'api-expressions', title: 'Expressions', words: 'What residual functions are written in: scalars, vectors, matrices, and quantities of meshes.',
    exports: ['V', 'Value', 'Scalar', 'Vec2', 'Vec3', 'Vec4', 'Mat2', 'Mat3', 'Rotation2', 'Rotation3', 'Pose2', 'Pose3', 'Sim2', 'Sim3', 'poseSpline', 'LoopState', 'LoopValues', 'LoopNext', 'rungeKutta4', 'RungeKutta4Options', 'dormandPrince', 'DormandPrinceOptions', 'geometry'],
  },
  {
    name: 'api-functions', title: 'Compiled functions', words: 'Residuals, sums, costs and their derivatives, on the GPU or the CPU.',
    exports: ['GpuCompiledFunctions', 'CompileOptions', 'GradientOnDevice', 'HessianOptions', 'CsrMatrix'],
  },
  {
    name: 'api-solvers', title: 'Solvers', words: 'Curve fits, Levenberg-Marquardt, L-BFGS, projected Newton, many small problems and many starts at once, and what a fit is worth.',
    exports: [
      'solve', 'levenbergMarquardt', 'LevenbergMarquardtOptions', 'lbfgs', 'LbfgsOptions', 'newton', 'NewtonOptions', 'SolveOptions', 'SolveResult', 'Finding', 'IterationSummary', 'Termination',
      'ConstraintResult', 'NonlinearLeastSquares', 'BeforeIteration', 'ChangeProblem', 'startValues', 'GaussianValues', 'LorentzianValues', 'ExponentialValues', 'LogisticValues', 'SineValues', 'CircleValues', 'EllipseValues', 'fit', 'FitData', 'FitModel', 'FitOptions', 'FitParameters', 'FitResult', 'FitSample', 'FitScalar', 'FitStart',
      'solveMany', 'ManyBatch', 'ManyOptions', 'ManyResult', 'ManyConstraintResult', 'multistart', 'MultistartOptions', 'MultistartResult', 'Minimum', 'StartRange', 'ransac', 'RansacOptions', 'RansacResult', 'covariance', 'CovarianceOptions', 'Covariance', 'ParameterBlock', 'rank',
      'RankOptions', 'RankResult', 'DirectionEntry', 'incremental', 'IncrementalSmoother', 'IncrementalOptions', 'IncrementalUpdate', 'MarginalCovarianceOptions', 'marginalise', 'MarginalPrior',
    ],
  },
  {
    name: 'api-formats', title: 'File formats', words: 'Pose graphs and bundle adjustments: their files, and a start for graphs.',
    exports: ['parseG2o', 'writeG2o', 'PoseGraph', 'PoseGraphLike', 'Measurements', 'initialisePoses', 'InitialisePosesOptions', 'parseBal', 'writeBal', 'BundleAdjustment', 'parseTum', 'writeTum', 'Trajectory'],
  },
  {
    name: 'api-device', title: 'Device, loading, failures', words: 'The GPU device, the WebAssembly module, and the one type of error.',
    exports: ['GpuContext', 'GpuContextOptions', 'ContextStats', 'ContextProfile', 'StageTimes', 'KernelTimes', 'init', 'InitOptions', 'Threads', 'WasmSource', 'ResiduaError', 'ErrorCode'],
  },
];

/** The same of `residua/tensor`. What it shares with `residua` stands there. */
const TENSOR_PAGES = [
  {
    name: 'api-tensor', title: 'Tensors', words: 'Arrays as recipes: element types, shapes, and all that is computed from one.',
    exports: [
      'Tensor', 'DType', 'DataOf', 'Shape', 'Size', 'Dim', 'dim', 'Axis', 'Axes', 'Range', 'Operand', 'Nested', 'ReadOptions', 'Indices', 'Keep', 'VarianceOptions', 'VectorNormOptions', 'ScanOptions', 'SortOptions', 'TopkOptions', 'PadOptions', 'ScatterOptions', 'Combine', 'Selection', 'Unique',
    ],
  },
  {
    name: 'api-tensor-functions', title: 'Functions of tensors', words: 'Sources without memory, random numbers, functions of several tensors, Fourier transforms, kernels of your own, loops, derivatives.',
    exports: [
      'zeros', 'ones', 'full', 'eye', 'arange', 'linspace', 'iota', 'oneHot', 'Random', 'map', 'fold', 'Fold', 'scan', 'ScanBodyOptions', 'loop', 'LoopOptions', 'Like', 'Values', 'Planes', 'where', 'concat', 'stack', 'meshgrid', 'cdist', 'einsum', 'linear', 'LinearOptions', 'embedding', 'layerNorm', 'rmsNorm', 'groupNorm',
      'batchNorm', 'NormOptions', 'rope', 'RopeOptions', 'crossEntropy', 'segmentSum', 'segmentMean', 'segmentMax', 'segmentMin', 'bincount', 'histogram', 'SparseMatrix', 'SparseParts', 'SparseProduct', 'SparseTriangular', 'SparseTriangularOptions', 'attention', 'AttentionOptions', 'complex', 'fft', 'ifft', 'rfft', 'irfft', 'FftOptions', 'stft', 'StftOptions', 'istft', 'IstftOptions', 'melSpectrogram', 'MelOptions', 'grad', 'jvp', 'jacobian', 'Derivatives', 'hessian', 'Hessians', 'customGradient', 'vmap',
      'conv1d', 'conv2d', 'convTranspose1d', 'convTranspose2d', 'ConvOptions', 'ConvTransposeOptions', 'maxPool', 'avgPool', 'adaptiveMaxPool', 'adaptiveAvgPool', 'PoolOptions', 'Padding', 'resize', 'ResizeOptions',
      'gridSample', 'GridSampleOptions', 'linalg',
    ],
  },
  {
    name: 'api-tensor-device', title: 'Memory, programs', words: 'The device of tensors, what has memory on it, and programs that are compiled once and run often.',
    exports: [
      'Device', 'DeviceOptions', 'DeviceFeatures', 'DeviceStats', 'Loss', 'StoredTensor', 'SharedTensor', 'QuantizedTensor', 'Quantized', 'QuantizedType', 'TensorMemory', 'ImageSource', 'Numeric', 'Numbers', 'Rows', 'Stored', 'Results', 'Group', 'Program', 'ProgramOptions', 'ProgramPlan', 'KernelComparison', 'Spec', 'Specs', 'spec', 'scalar', 'Feed', 'Feeds', 'Sizes',
      'KvCache', 'KvCacheOptions', 'dispose', 'init',
    ],
  },
  {
    name: 'api-tensor-files', title: 'Files', words: 'Loading and saving tensors: safetensors, GGUF, and the formats of NumPy.',
    exports: ['loadSafetensors', 'saveSafetensors', 'loadGguf', 'loadNpy', 'loadNpz', 'saveNpy', 'FileSource', 'LoadOptions'],
  },
];
/** The same of `residua/tensor/models`. */
const MODELS_PAGES = [
  {
    name: 'api-tensor-models', title: 'residua/tensor/models', words: 'Decoders that generate text, encoders of sentences, CLIP, Whisper, and what they need of texts.',
    exports: [
      'loadDecoder', 'DecoderLoadOptions', 'DecoderModel', 'compileDecoder', 'DecoderOptions', 'Decoder', 'GenerateOptions', 'SamplingOptions', 'jsonGrammar', 'Grammar', 'GrammarState', 'chatPrompt', 'ChatMessage', 'chatForm', 'ChatForm',
      'ggufTokenizer', 'wordPieceTokenizer', 'TextTokenizer', 'TokenizerLibrary', 'tokenBytes', 'loadEncoder', 'EncoderLoadOptions', 'EncoderModel', 'Pooling', 'compileEncoder', 'EncoderOptions', 'Encoder',
      'loadClip', 'ClipLoadOptions', 'ClipModel', 'compileClip', 'ClipOptions', 'Clip', 'ClipSettings', 'ClipTower',
      'loadWhisper', 'WhisperLoadOptions', 'WhisperModel', 'compileWhisper', 'WhisperOptions', 'Whisper', 'WhisperSettings',
      'decoderLogits', 'sentenceVectors', 'decoderSettings', 'DecoderSettings', 'EncoderSettings', 'BlockShape', 'Activation', 'RotarySettings', 'RotaryScaling', 'ModelSource', 'Weight', 'WeightTable', 'Naming',
    ],
  },
];

/** The same of `residua/tensor/onnx`. */
const ONNX_PAGES = [
  {
    name: 'api-tensor-onnx', title: 'residua/tensor/onnx', words: 'Models of ONNX as recipes and programs of tensors.',
    exports: ['loadOnnx', 'OnnxOptions', 'LoadedModel', 'ModelValue', 'ModelFeed', 'ModelNumbers'],
  },
];

/** The same of `residua/tensor/tfjs`, which gives what `residua/tensor/onnx` gives. */
const TFJS_PAGES = [
  { name: 'api-tensor-tfjs', title: 'residua/tensor/tfjs', words: 'Models of TensorFlow.js as recipes and programs of tensors.', exports: ['loadTfjs', 'TfjsOptions'] },
];

/** The same of `residua/tensor/train`. */
const TRAIN_PAGES = [
  {
    name: 'api-tensor-train', title: 'Training', words: 'Optimisers, schedules, losses, batch norm, loaders of data, the loop of a training, and checkpoints.',
    exports: [
      'compileStep', 'TrainingStep', 'StepOptions', 'StepResults', 'MetricName', 'fit', 'FitOptions', 'EpochReport', 'BatchReport', 'Optimizer', 'RatedOptimizer', 'RateOptions', 'Sgd', 'SgdOptions', 'Adam', 'AdamW', 'AdamOptions', 'Lion', 'LionOptions', 'Muon', 'MuonOptions',
      'OptimizerGroup', 'StepInputs', 'StoredTree', 'StoredBranch', 'schedule', 'Schedule', 'OneCycleOptions', 'clipByNorm', 'Clipped', 'WeightAverage', 'WeightAverageOptions', 'BatchNorm', 'BatchNormOptions',
      'crossEntropyLoss', 'CrossEntropyOptions', 'binaryCrossEntropyLoss', 'BinaryCrossEntropyOptions', 'smoothL1Loss', 'SmoothL1Options', 'LossOptions', 'Reduction',
      'DataLoader', 'DataLoaderOptions', 'Columns', 'Batch', 'LoaderState', 'samples', 'Samples', 'SampleFileOptions', 'PictureOptions', 'saveCheckpoint', 'loadCheckpoint', 'SaveCheckpointOptions', 'CheckpointOptions',
    ],
  },
];
/** The same of `residua/cameras`. */
const CAMERA_PAGES = [
  {
    name: 'api-cameras', title: 'residua/cameras', words: 'Lenses, and starts of poses and points in closed form.',
    exports: [
      'lenses', 'Lens', 'Undistorted', 'triangulate', 'TriangulateOptions', 'Triangulation', 'TriangulationStatus', 'solvePnp', 'PnpResult', 'CameraPose', 'absoluteOrientation', 'AbsoluteOrientation',
      'AbsoluteOrientationOptions', 'handEye', 'HandEye', 'relativePose', 'RelativePose',
    ],
  },
  {
    name: 'api-colmap', title: 'Files of COLMAP', words: 'Models of residua/cameras: read and written.',
    exports: [
      'parseColmap', 'ColmapFiles', 'writeColmap', 'ColmapModel', 'ColmapModelLike', 'ColmapCamera', 'ColmapCameraModel', 'ColmapImages', 'ColmapPoints', 'ColmapKeypoints', 'ColmapObservations', 'colmapLens',
    ],
  },
];
/** What both entry points export. */
const SHARED = ['ResiduaError', 'ErrorCode', 'WasmSource', 'InitOptions', 'Threads'];

const WORKER = { name: 'api-worker', title: 'residua/worker', file: ['/worker.ts'] };
const MODELS_WORKER = { name: 'api-tensor-models-worker', title: 'residua/tensor/models/worker', file: ['/tensor-models-worker.ts', '/remote-model.ts'] };
const TENSOR_WORKER = { name: 'api-tensor-worker', title: 'residua/tensor/worker', file: ['/tensor-worker.ts'] };

/**
 * The pages as `{ name, title, description, html, headings }`. `worker`, `tensors`, `models`, `onnx`, `tfjs`, `training`, `tensorWorker`, `modelsWorker` and
 * `cameras` are the other entry points: `{ declarations, doc }`, all declarations of one and what it says of itself. Of a worker's declarations its own are
 * shown. Throws where something public stands on no page or has no documentation.
 */
export function referencePages(declarations, worker, { declarations: all }, { declarations: models }, { declarations: onnx }, { declarations: tfjs }, { declarations: training }, tensorWorker, modelsWorker, { declarations: cameras }) {
  const tensors = new Map([...all].filter(([name]) => !SHARED.includes(name)));
  check(declarations, PAGES);
  check(tensors, TENSOR_PAGES);
  const own = addressesOf(PAGES);
  const ofTensors = addressesOf(TENSOR_PAGES);
  const ofOnnx = addressesOf(ONNX_PAGES);
  const linkOfModels = (name) => ofOnnx.get(name) ?? linkOfTensors(name);
  const linkOf = (name) => own.get(name);
  // Both entry points have an `Indices`: each links to its own names first.
  const linkOfTensors = (name) => ofTensors.get(name) ?? own.get(name);
  const codes = declarations.get('ErrorCode').members.map(({ name }) => name);
  const prose = proseRenderer(declarations, linkOf, codes);
  const proseOfTensors = proseRenderer(new Map([...declarations, ...tensors]), linkOfTensors, codes);
  // Entry points that build on tensors or on `residua`.
  const above = [
    ['residua/cameras', cameras, CAMERA_PAGES, new Map(), linkOf],
    ['residua/tensor/models', models, MODELS_PAGES, tensors, linkOfTensors],
    ['residua/tensor/onnx', onnx, ONNX_PAGES, tensors, linkOfTensors],
    ['residua/tensor/tfjs', new Map([...tfjs].filter(([name]) => !onnx.has(name))), TFJS_PAGES, new Map([...tensors, ...onnx]), linkOfModels],
    ['residua/tensor/train', training, TRAIN_PAGES, tensors, linkOfTensors],
  ].map(([entry, names, pages, below, linkOfBelow]) => {
    check(names, pages);
    const addresses = addressesOf(pages);
    const linkOf = (name) => addresses.get(name) ?? linkOfBelow(name);
    return { entry, declarations: names, pages, linkOf, prose: proseRenderer(new Map([...declarations, ...below, ...names]), linkOf, codes) };
  });
  return [
    namesPage([
      { entry: 'residua', declarations, prose, linkOf },
      { entry: 'residua/tensor', declarations: tensors, prose: proseOfTensors, linkOf: linkOfTensors },
      ...above,
    ]),
    ...PAGES.map((page) => entriesPage(page, declarations, prose, linkOf)),
    workerPage(WORKER, worker, prose, linkOf),
    ...TENSOR_PAGES.map((page) => entriesPage(page, tensors, proseOfTensors, linkOfTensors)),
    workerPage(TENSOR_WORKER, tensorWorker, proseOfTensors, linkOfTensors),
    workerPage(MODELS_WORKER, modelsWorker, proseRenderer(new Map([...declarations, ...tensors, ...onnx]), linkOfModels, codes), linkOfModels),
    ...above.flatMap(({ pages, declarations, prose, linkOf }) => pages.map((page) => entriesPage(page, declarations, prose, linkOf))),
  ];
}

const addressesOf = (pages) => new Map(pages.flatMap(({ name, exports }) => exports.map((item) => [item, `${name}.html#${item}`])));

/** The entries that stand on one page. */
function entriesPage({ name, title, words, exports }, declarations, prose, linkOf) {
  const entries = exports.map((item) => entryHtml(declarations.get(item), prose, (word) => (word === item ? undefined : linkOf(word))));
  const headings = exports.map((item) => ({ level: 2, words: item, anchor: item }));
  return { name, title, description: words, html: `<h1>${title}</h1>\n<p>${words} Generated from the package’s TypeScript sources.</p>\n${entries.join('\n')}`, headings };
}

/** Every name, with the first sentence about it, by entry point. */
function namesPage(entryPoints) {
  const byName = (a, b) => a.name.localeCompare(b.name, 'en');
  const lists = entryPoints.map(({ entry, declarations, prose, linkOf }) => {
    const items = [...declarations.values()].sort(byName).map(({ name, doc }) => {
      const [sentence] = /^[^]*?[.:](?=\s|$)|^[^]*$/.exec(doc);
      return `<dt><a href="${linkOf(name)}"><code>${name}</code></a></dt>\n<dd>${prose(sentence.replace(/:$/, '.'))}</dd>`;
    });
    return `<h2 id="${anchorOf(entry)}">${entry}</h2>\n<dl class="names">\n${items.join('\n')}\n</dl>`;
  });
  const title = 'All names';
  const headings = entryPoints.map(({ entry }) => ({ level: 2, words: entry, anchor: anchorOf(entry) }));
  return { name: 'api', title, description: 'Every name that the package exports.', html: `<h1>${title}</h1>\n${lists.join('\n')}`, headings };
}

const anchorOf = (entry) => entry.replaceAll('/', '-');

/** What an entry point with a worker has of its own; the rest is the same as in the one without. */
function workerPage({ name, title, file: end }, { declarations, doc }, prose, linkOf) {
  const own = [...declarations.values()].filter(({ file }) => end.some((each) => file.endsWith(each)));
  const entries = own.map((entry) => {
    if (entry.doc === '') throw new Error(`${entry.name} of ${title} has no documentation`);
    const twin = entry.kind === 'const' ? `<p>Its members and arguments are those of <a href="${linkOf(entry.name)}">${entry.name}</a>.</p>` : '';
    return `${entryHtml(entry, prose, (word) => (word === entry.name ? undefined : linkOf(word)))}${twin}`;
  });
  const [, ...paragraphs] = doc.split(new RegExp(`^${title}: `));
  const text = prose(paragraphs.join('').replace(/^./, (letter) => letter.toUpperCase()));
  const headings = own.map(({ name }) => ({ level: 2, words: name, anchor: name }));
  return { name, title, description: 'The same names, with everything that takes time in a worker.', html: `<h1>${title}</h1>\n${text}\n${entries.join('\n')}`, headings };
}

function check(declarations, pages) {
  const placed = pages.flatMap(({ exports }) => exports);
  const problems = [
    ...[...declarations.keys()].filter((name) => !placed.includes(name)).map((name) => `${name} stands on no page of the reference`),
    ...placed.filter((name, at) => placed.indexOf(name) !== at).map((name) => `${name} stands in the reference twice`),
    ...placed.filter((name) => !declarations.has(name)).map((name) => `the reference names ${name}, which is not exported`),
    ...[...declarations.values()].flatMap(({ name, doc, members }) => [
      ...(doc === '' ? [`${name} has no documentation`] : []),
      ...members.filter((member) => member.doc === '').map((member) => `${name}.${member.name} has no documentation`),
    ]),
  ];
  if (problems.length > 0) throw new Error(problems.join('\n'));
}

/** Documentation as HTML. What {@link …} names is a link, and so is an error's code, to what to do about it. */
function proseRenderer(declarations, linkOf, codes) {
  const md = new MarkdownIt({ html: false });
  const address = (target) => {
    const [owner, member] = target.split('.');
    const page = linkOf(owner);
    if (page === undefined) throw new Error(`{@link ${target}} leads nowhere`);
    if (member === undefined) return page;
    if (!declarations.get(owner).members.some(({ name }) => name === member)) throw new Error(`{@link ${target}} leads nowhere`);
    return `${page}.${member}`;
  };
  const withCodes = (doc) => doc.replace(new RegExp(`'(${codes.join('|')})'`, 'g'), "[`'$1'`](troubleshooting.html#$1)");
  return (doc) => md.render(withCodes(doc).replace(/\{@link ([\w.]+)\}/g, (_, target) => `[\`${target}\`](${address(target)})`));
}

function entryHtml({ name, signature, doc, members }, prose, linkOf) {
  const list = members.map((member) => {
    const lines = member.signatures.map((line) => `<pre tabindex="0"><code>${highlight(line, 'ts', linkOf)}</code></pre>`);
    return `<dt id="${name}.${member.name.replace(/[^\w-]/g, '')}">${lines.join('')}</dt>\n<dd>${prose(member.doc)}</dd>`;
  });
  return `<section class="entry">
<h2 id="${name}">${name} <a class="anchor" href="#${name}" aria-label="Link to ${name}">#</a></h2>
${codeBlock(signature, 'ts', false, linkOf)}${prose(doc)}
${list.length === 0 ? '' : `<dl class="members">\n${list.join('\n')}\n</dl>`}
</section>`;
}
