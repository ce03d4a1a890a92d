/* A stand-in for the CUDA runtime: one device of 1 GiB without memory behind its addresses. It is enough for the caching
   allocator of PyTorch, which only counts. scripts/cached-blocks preloads it. */
#include <driver_types.h>
#include <string.h>

typedef cudaError_t Error;
static const size_t total = (size_t)1 << 30, gap = (size_t)2 << 20;
static size_t used = 0;
static char *next_address = (char *)0x7000000000ULL;
static struct { void *address; size_t size; } live[65536];
static int count = 0;

Error cudaMalloc(void **address, size_t size) {
  if (used + size > total) return cudaErrorMemoryAllocation;
  *address = next_address;
  next_address += (size + gap - 1) / gap * gap + gap;
  live[count].address = *address;
  live[count++].size = size;
  used += size;
  return 0;
}
Error cudaFree(void *address) {
  for (int i = 0; i < count; i++)
    if (live[i].address == address) { used -= live[i].size; live[i] = live[--count]; }
  return 0;
}
Error cudaMemGetInfo(size_t *left, size_t *all) { *all = total; *left = total - used; return 0; }
Error cudaGetDeviceCount(int *devices) { *devices = 1; return 0; }
Error cudaGetDevice(int *device) { *device = 0; return 0; }
Error cudaSetDevice(int device) { return 0; }
Error cudaGetLastError(void) { return 0; }
Error cudaPeekAtLastError(void) { return 0; }
Error cudaDriverGetVersion(int *version) { *version = 12040; return 0; }
Error cudaRuntimeGetVersion(int *version) { *version = 12040; return 0; }
Error cudaDeviceSynchronize(void) { return 0; }
Error cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device) { *value = 1; return 0; }
Error cudaGetDeviceProperties_v2(struct cudaDeviceProp *properties, int device) {
  memset(properties, 0, sizeof *properties);
  properties->major = 8;
  properties->totalGlobalMem = total;
  properties->multiProcessorCount = 1;
  properties->warpSize = 32;
  properties->maxThreadsPerBlock = 1024;
  properties->maxThreadsPerMultiProcessor = 2048;
  return 0;
}
Error cudaDeviceGetStreamPriorityRange(int *least, int *greatest) { *least = 0; *greatest = -5; return 0; }
Error cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int priority) {
  static size_t number = 1000;
  *stream = (cudaStream_t)(number += 16);
  return 0;
}
Error cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status) { *status = 0; return 0; }
Error cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode) { return 0; }
Error cudaStreamSynchronize(cudaStream_t stream) { return 0; }
Error cudaStreamQuery(cudaStream_t stream) { return 0; }
Error cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags) { *event = (cudaEvent_t)1; return 0; }
Error cudaEventDestroy(cudaEvent_t event) { return 0; }
Error cudaEventRecord(cudaEvent_t event, cudaStream_t stream) { return 0; }
Error cudaEventQuery(cudaEvent_t event) { return 0; }
Error cudaEventSynchronize(cudaEvent_t event) { return 0; }
