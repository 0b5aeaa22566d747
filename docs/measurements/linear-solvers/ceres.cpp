// The problems of problems.mjs, solved by Ceres Solver in one thread; its time covers the making of the problem and the solve.
//   g++ -O2 -DNDEBUG -std=c++17 -I/usr/include/eigen3 ceres.cpp -o ceres -lceres -lglog && ./ceres FILE [LINEAR_SOLVER]
#include <ceres/ceres.h>
#include <ceres/rotation.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

using ceres::AutoDiffCostFunction;

struct SpatialEdge {
  double t[3], q[4], root[21];
  template <typename T> bool operator()(const T* ti, const T* qi, const T* tj, const T* qj, T* r) const {
    const T back[4] = {qi[0], -qi[1], -qi[2], -qi[3]};
    const T way[3] = {tj[0] - ti[0], tj[1] - ti[1], tj[2] - ti[2]};
    T seen[3], relative[4], turn[4];
    ceres::UnitQuaternionRotatePoint(back, way, seen);
    ceres::QuaternionProduct(back, qj, relative);
    const T measured[4] = {T(q[0]), T(-q[1]), T(-q[2]), T(-q[3])};
    ceres::QuaternionProduct(measured, relative, turn);
    T e[6];
    for (int k = 0; k < 3; k++) {
      e[k] = seen[k] - t[k];
      e[3 + k] = 2.0 * turn[1 + k];
    }
    const double* next = root;
    for (int i = 0; i < 6; i++) {
      r[i] = T(0);
      for (int j = i; j < 6; j++) r[i] += *next++ * e[j];
    }
    return true;
  }
};

struct PlanarEdge {
  double x, y, theta, root[3];
  template <typename T> bool operator()(const T* ti, const T* hi, const T* tj, const T* hj, T* r) const {
    using std::cos; using std::sin;
    const T c = cos(hi[0]), s = sin(hi[0]), dx = tj[0] - ti[0], dy = tj[1] - ti[1];
    const T turn = hj[0] - hi[0] - theta;
    r[0] = root[0] * (c * dx + s * dy - x);
    r[1] = root[1] * (c * dy - s * dx - y);
    r[2] = root[2] * (turn - ceres::floor((turn + T(M_PI)) / T(2 * M_PI)) * T(2 * M_PI));
    return true;
  }
};

struct Observation {
  double u, v;
  template <typename T> bool operator()(const T* c, const T* point, T* r) const {
    T p[3];
    ceres::AngleAxisRotatePoint(c, point, p);
    for (int k = 0; k < 3; k++) p[k] += c[3 + k];
    const T x = -p[0] / p[2], y = -p[1] / p[2], n = x * x + y * y;
    const T scale = c[6] * (T(1) + n * (c[7] + c[8] * n));
    r[0] = scale * x - u;
    r[1] = scale * y - v;
    return true;
  }
};

struct Rigid {
  double side[3], weight;
  template <typename T> bool operator()(const T* a, const T* b, const T* q, T* r) const {
    const T at_rest[3] = {T(side[0]), T(side[1]), T(side[2])};
    T turned[3];
    ceres::UnitQuaternionRotatePoint(q, at_rest, turned);
    for (int k = 0; k < 3; k++) r[k] = weight * (a[k] - b[k] - turned[k]);
    return true;
  }
};

struct Spring {
  double length;
  template <typename T> bool operator()(const T* a, const T* b, T* r) const {
    using std::sqrt;
    T square(0);
    for (int k = 0; k < 3; k++) square += (a[k] - b[k]) * (a[k] - b[k]);
    r[0] = sqrt(square) - length;
    return true;
  }
};

// What a file has, as flat lists.
struct Data {
  std::vector<double> at, turned, rest, numbers;
  std::vector<int> ends, held;
  bool planar = false;
};

// The upper triangle of Lᵀ, row after row, with L Lᵀ the matrix whose upper triangle is given.
static void pushRoot(const double* upper, std::vector<double>& numbers) {
  double l[6][6] = {}, a[6][6];
  for (int i = 0; i < 6; i++) for (int j = i; j < 6; j++) a[i][j] = a[j][i] = *upper++;
  for (int i = 0; i < 6; i++) {
    for (int j = 0; j <= i; j++) {
      double sum = a[i][j];
      for (int k = 0; k < j; k++) sum -= l[i][k] * l[j][k];
      l[i][j] = i == j ? std::sqrt(sum) : sum / l[j][j];
    }
  }
  for (int i = 0; i < 6; i++) for (int j = i; j < 6; j++) numbers.push_back(l[j][i]);
}

static Data readGraph(std::istream& in) {
  Data data;
  for (std::string line, tag; std::getline(in, line);) {
    std::istringstream words(line);
    words >> tag;
    double v[28];
    int i, j;
    if (tag == "VERTEX_SE2") {
      data.planar = true;
      words >> i >> v[0] >> v[1] >> v[2];
      data.at.insert(data.at.end(), v, v + 2);
      data.turned.push_back(v[2]);
    } else if (tag == "VERTEX_SE3:QUAT") {
      words >> i;
      for (int k = 0; k < 7; k++) words >> v[k];
      data.at.insert(data.at.end(), v, v + 3);
      const double norm = std::sqrt(v[3] * v[3] + v[4] * v[4] + v[5] * v[5] + v[6] * v[6]);
      for (int k : {6, 3, 4, 5}) data.turned.push_back(v[k] / norm);
    } else if (tag == "EDGE_SE2" || tag == "EDGE_SE3:QUAT") {
      words >> i >> j;
      data.ends.push_back(i);
      data.ends.push_back(j);
      for (int k = 0; k < 28 && words >> v[k]; k++) {}
      if (data.planar) {
        // The information matrices of these problems in the plane are diagonal.
        data.numbers.insert(data.numbers.end(), {v[0], v[1], v[2], std::sqrt(v[3]), std::sqrt(v[6]), std::sqrt(v[8])});
      } else {
        data.numbers.insert(data.numbers.end(), {v[0], v[1], v[2], v[6], v[3], v[4], v[5]});
        pushRoot(v + 7, data.numbers);
      }
    }
  }
  data.held = {0};
  return data;
}

static Data readBundle(std::istream& in) {
  Data data;
  int cameras, points, count;
  in >> cameras >> points >> count;
  for (int k = 0; k < count; k++) {
    int c, p; double u, v;
    in >> c >> p >> u >> v;
    data.ends.push_back(c); data.ends.push_back(p);
    data.numbers.push_back(u); data.numbers.push_back(v);
  }
  data.turned.resize(9 * cameras);
  data.at.resize(3 * points);
  for (double& x : data.turned) in >> x;
  for (double& x : data.at) in >> x;
  return data;
}

static Data readNet(std::istream& in) {
  Data data;
  int vertices, edges, held;
  in >> vertices >> edges >> held;
  data.rest.resize(3 * vertices); data.at.resize(3 * vertices);
  for (double& x : data.rest) in >> x;
  for (double& x : data.at) in >> x;
  for (int k = 0; k < edges; k++) {
    int a, b; double number;
    in >> a >> b >> number;
    data.ends.push_back(a); data.ends.push_back(b); data.numbers.push_back(number);
  }
  data.held.resize(held);
  for (int& x : data.held) in >> x;
  data.turned.assign(4 * vertices, 0.0);
  for (int k = 0; k < vertices; k++) data.turned[4 * k] = 1.0;
  return data;
}

static void addGraph(Data& d, ceres::Problem& problem) {
  const size_t edges = d.ends.size() / 2;
  for (size_t k = 0; k < edges; k++) {
    const int i = d.ends[2 * k], j = d.ends[2 * k + 1];
    if (d.planar) {
      const double* n = &d.numbers[6 * k];
      auto* edge = new PlanarEdge{n[0], n[1], n[2], {n[3], n[4], n[5]}};
      problem.AddResidualBlock(new AutoDiffCostFunction<PlanarEdge, 3, 2, 1, 2, 1>(edge), nullptr, &d.at[2 * i], &d.turned[i], &d.at[2 * j], &d.turned[j]);
    } else {
      const double* n = &d.numbers[28 * k];
      auto* edge = new SpatialEdge;
      std::copy(n, n + 3, edge->t); std::copy(n + 3, n + 7, edge->q); std::copy(n + 7, n + 28, edge->root);
      problem.AddResidualBlock(new AutoDiffCostFunction<SpatialEdge, 6, 3, 4, 3, 4>(edge), nullptr, &d.at[3 * i], &d.turned[4 * i], &d.at[3 * j], &d.turned[4 * j]);
    }
  }
  if (!d.planar) {
    auto* manifold = new ceres::QuaternionManifold;
    for (size_t k = 0; k < d.turned.size(); k += 4) problem.SetManifold(&d.turned[k], manifold);
  }
  problem.SetParameterBlockConstant(&d.at[0]);
  problem.SetParameterBlockConstant(&d.turned[0]);
}

static void addNet(Data& d, ceres::Problem& problem, bool rigid) {
  const size_t edges = d.ends.size() / 2;
  for (size_t k = 0; k < edges; k++) {
    const int a = d.ends[2 * k], b = d.ends[2 * k + 1];
    if (!rigid) {
      problem.AddResidualBlock(new AutoDiffCostFunction<Spring, 1, 3, 3>(new Spring{d.numbers[k]}), nullptr, &d.at[3 * a], &d.at[3 * b]);
      continue;
    }
    for (auto [from, to] : {std::pair(a, b), std::pair(b, a)}) {
      auto* cost = new Rigid{{}, d.numbers[k]};
      for (int c = 0; c < 3; c++) cost->side[c] = d.rest[3 * from + c] - d.rest[3 * to + c];
      problem.AddResidualBlock(new AutoDiffCostFunction<Rigid, 3, 3, 3, 4>(cost), nullptr, &d.at[3 * from], &d.at[3 * to], &d.turned[4 * from]);
    }
  }
  if (rigid) {
    auto* manifold = new ceres::QuaternionManifold;
    for (size_t k = 0; k < d.turned.size(); k += 4) problem.SetManifold(&d.turned[k], manifold);
  }
  for (int vertex : d.held) problem.SetParameterBlockConstant(&d.at[3 * vertex]);
}

int main(int argc, char** argv) {
  if (argc < 2) return 1;
  const std::string file = argv[1];
  const auto ends = [&](const std::string& with) { return file.size() >= with.size() && file.compare(file.size() - with.size(), with.size(), with) == 0; };
  std::ifstream in(file);
  const bool isGraph = ends(".g2o"), isBundle = ends(".bal");
  Data data = isGraph ? readGraph(in) : isBundle ? readBundle(in) : readNet(in);

  const auto began = std::chrono::steady_clock::now();
  ceres::Problem problem;
  if (isGraph) addGraph(data, problem);
  else if (!isBundle) addNet(data, problem, ends("rigid.net"));
  else for (size_t k = 0; k < data.ends.size() / 2; k++) {
    auto* cost = new Observation{data.numbers[2 * k], data.numbers[2 * k + 1]};
    problem.AddResidualBlock(new AutoDiffCostFunction<Observation, 2, 9, 3>(cost), new ceres::HuberLoss(1.0), &data.turned[9 * data.ends[2 * k]], &data.at[3 * data.ends[2 * k + 1]]);
  }
  // Defaults, but for the limit of iterations, and the tolerance that brings both to the same cost.
  ceres::Solver::Options options;
  options.max_num_iterations = 200;
  options.function_tolerance = 1e-8;
  options.num_threads = 1;
  options.logging_type = ceres::SILENT;
  if (argc > 2 && !ceres::StringToLinearSolverType(argv[2], &options.linear_solver_type)) return 2;
  ceres::Solver::Summary summary;
  ceres::Solve(options, &problem, &summary);
  const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - began).count();
  std::printf("{\"ms\":%.1f,\"cost\":%.12g,\"iterations\":%zu,\"linear\":\"%s\",\"linearMs\":%.1f,\"jacobianMs\":%.1f,\"converged\":%s}\n", ms, summary.final_cost,
              summary.iterations.size() - 1, ceres::LinearSolverTypeToString(summary.linear_solver_type_used), 1e3 * summary.linear_solver_time_in_seconds,
              1e3 * summary.jacobian_evaluation_time_in_seconds, summary.termination_type == ceres::CONVERGENCE ? "true" : "false");
}
