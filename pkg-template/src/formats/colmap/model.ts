/** Models of COLMAP (J. L. Schönberger, J.-M. Frahm, "Structure-from-Motion Revisited", CVPR 2016): cameras, images, points, and where images see points. */

/** The models of cameras by their number in binary files, with how many parameters each has. */
const CAMERA_MODELS = [
  ['SIMPLE_PINHOLE', 3],
  ['PINHOLE', 4],
  ['SIMPLE_RADIAL', 4],
  ['RADIAL', 5],
  ['OPENCV', 8],
  ['OPENCV_FISHEYE', 8],
  ['FULL_OPENCV', 12],
  ['FOV', 5],
  ['SIMPLE_RADIAL_FISHEYE', 4],
  ['RADIAL_FISHEYE', 5],
  ['THIN_PRISM_FISHEYE', 12],
  ['RAD_TAN_THIN_PRISM_FISHEYE', 16],
  ['SIMPLE_DIVISION', 4],
  ['DIVISION', 5],
  ['SIMPLE_FISHEYE', 3],
  ['FISHEYE', 4],
  ['EUCM', 6],
  ['EQUIRECTANGULAR', 2],
] as const;

/** The name of a model of cameras. */
export type ColmapCameraModel = (typeof CAMERA_MODELS)[number][0];

/** The names of the models, by their number in binary files. */
export const MODEL_NAMES: readonly ColmapCameraModel[] = CAMERA_MODELS.map(([name]) => name);
/** The number of parameters of each model. */
export const MODEL_SIZES: ReadonlyMap<string, number> = new Map(CAMERA_MODELS);

/** A camera. */
export interface ColmapCamera {
  /** Its id in the files. */
  readonly id: number;
  /** The name of its model. */
  readonly model: ColmapCameraModel;
  /** The width of its images in pixels. */
  readonly width: number;
  /** The height of its images in pixels. */
  readonly height: number;
  /** The parameters in the order of the model. */
  readonly parameters: Float64Array;
}

/** Images, in the order of the file. */
export interface ColmapImages {
  /** Their ids in the files. */
  readonly ids: Uint32Array;
  /** The names of their files. */
  readonly names: readonly string[];
  /** The camera of each: its position in `cameras`. */
  readonly cameras: Uint32Array;
  /** Poses that take points of the world into the camera's frame, as blocks of `problem.poses`: the unit quaternion w, x, y, z, then x, y, z. */
  readonly poses: Float64Array;
}

/** Points, in the order of the file. */
export interface ColmapPoints {
  /** Their ids in the files. */
  readonly ids: Float64Array;
  /** 3 numbers each. */
  readonly positions: Float64Array;
  /** Red, green and blue of each, from 0 to 255. */
  readonly colors: Uint8Array;
  /** The mean reprojection error of each in pixels, as the file has it; −1 where it is not known. */
  readonly errors: Float64Array;
}

/** Keypoints of images. The centre of the first pixel is at (0.5, 0.5). */
export interface ColmapKeypoints {
  /** The image of each: its position in `images`. */
  readonly images: Uint32Array;
  /** Where it is, 2 numbers each. */
  readonly pixels: Float64Array;
  /** Its number among the keypoints of its image, from 0. */
  readonly keypoints: Uint32Array;
}

/** Keypoints that are seen points. */
export interface ColmapObservations extends ColmapKeypoints {
  /** The point of each: its position in `points`. */
  readonly points: Uint32Array;
}

/** A model: a bundle adjustment takes cameras, poses, positions and observations. */
export interface ColmapModel {
  /** In the order of the file. */
  readonly cameras: readonly ColmapCamera[];
  /** With their poses. */
  readonly images: ColmapImages;
  /** With their positions. */
  readonly points: ColmapPoints;
  /** Image after image. */
  readonly observations: ColmapObservations;
  /** Keypoints without a point, image after image. */
  readonly unmatched: ColmapKeypoints;
}
